#include "variable/orthogonal.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "variable/element_bits.h"
#include "variable/normal.h"

namespace capstan {
namespace {

// Four independent sums, which the processor can compute in parallel; explicit,
// so that the order of additions does not depend on the compiler.
double Dot(std::span<const double> a, std::span<const double> b) {
  std::array<double, 4> sums{};
  const size_t whole = a.size() / 4 * 4;
  for (size_t i = 0; i < whole; i += 4) {
    for (size_t k = 0; k < 4; ++k) sums[k] += a[i + k] * b[i + k];
  }
  for (size_t i = whole; i < a.size(); ++i) sums[0] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

void Subtract(std::span<double> from, double times,
              std::span<const double> what) {
  for (size_t i = 0; i < from.size(); ++i) from[i] -= times * what[i];
}

// Orthonormal vectors of length `size`, stored one after the other.
class Basis {
 public:
  Basis(size_t count, size_t size, uint64_t seed)
      : size_(size), seed_(seed), values_(count * size) {
    for (size_t j = 0; j < count; ++j) {
      for (uint32_t draw = 0; !Add(j, draw);) ++draw;
    }
  }

  std::span<double> operator[](size_t j) {
    return std::span(values_).subspan(j * size_, size_);
  }

 private:
  // Computes vector j: normal numbers, minus their projection on the previous
  // vectors, normalized (Gram-Schmidt). Returns false if next to nothing is
  // left, since the draw depends on the previous vectors; that happens once in
  // billions of draws.
  bool Add(size_t j, uint32_t draw) {
    const std::span<double> vector = (*this)[j];
    for (size_t i = 0; i < size_; ++i) {
      vector[i] = NormalOf(ElementBits(seed_, j * size_ + i, draw));
    }
    const double first_norm = std::sqrt(Dot(vector, vector));
    double before = first_norm;
    double norm = before;
    // Where much is subtracted, rounding leaves some of it; a second pass
    // removes that too ("twice is enough", Kahan).
    for (int pass = 0; pass < 2; ++pass) {
      before = norm;
      for (size_t k = 0; k < j; ++k) {
        const std::span<double> other = (*this)[k];
        Subtract(vector, Dot(vector, other), other);
      }
      norm = std::sqrt(Dot(vector, vector));
      if (norm > 0.7 * before) break;
    }
    if (!(norm > 1e-8 * first_norm)) return false;
    for (double& value : vector) value /= norm;
    return true;
  }

  const size_t size_;
  const uint64_t seed_;
  std::vector<double> values_;
};

}  // namespace

std::vector<double> RandomOrthogonal(size_t rows, size_t columns,
                                     uint64_t seed) {
  const size_t count = std::min(rows, columns);
  const size_t size = std::max(rows, columns);
  Basis basis(count, size, seed);
  std::vector<double> matrix(rows * columns);
  for (size_t j = 0; j < count; ++j) {
    const std::span<const double> vector = basis[j];
    for (size_t i = 0; i < size; ++i) {
      matrix[rows >= columns ? i * columns + j : j * columns + i] = vector[i];
    }
  }
  return matrix;
}

}  // namespace capstan

// What each optimizer's test uses: arrays to update, and the comparison with an
// oracle, one element at a time in double. Test-only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "capstan/optimizer.h"
#include "capstan/tensor.h"
#include "optimizer/updater.h"

namespace capstan::testing {

inline constexpr DType kGradientDTypes[] = {DType::kF32, DType::kF16,
                                            DType::kBF16};

// The updater of a valid optimizer.
std::unique_ptr<const Updater> MakeUpdater(const Optimizer& optimizer);

// Calls `test` once for each instruction set that this machine supports and the
// kernels were compiled for, with that set selected. Not thread-safe.
void ForEachTarget(const std::function<void(const std::string& name)>& test);

// Numbers of random sign with absolute values between low and high.
std::vector<float> RandomNumbers(Random& random, size_t size, double low,
                                 double high);

// `values` as elements of a dtype: f32, f16 or bf16.
std::vector<std::byte> Encode(DType dtype, const std::vector<float>& values);
// `values` as Encode rounds them.
std::vector<float> Rounded(DType dtype, std::vector<float> values);

// A value and its slots, in memory that begins `misalignment` floats after a
// cache line, each array between two guard floats that must not change.
class Arrays {
 public:
  Arrays(size_t num_slots, size_t size, size_t misalignment = 0);
  // Random contents for which no rule suffers cancellation: values near 1,
  // slots positive and near 1 if they hold squares or sizes, smaller otherwise.
  static Arrays Random(const Updater& updater, size_t size, uint64_t seed,
                       size_t misalignment = 0);
  // The same contents at another alignment.
  Arrays Copy(size_t misalignment) const;

  size_t num_slots() const { return memory_.size() - 1; }
  size_t size() const { return size_; }
  float* value() { return array(0); }
  const float* value() const { return array(0); }
  float* slot(size_t s) { return array(s + 1); }
  const float* slot(size_t s) const { return array(s + 1); }

  // Whether the guards around the arrays are unchanged.
  bool GuardsHold() const;

 private:
  float* array(size_t a) { return memory_[a].data() + start_[a]; }
  const float* array(size_t a) const { return memory_[a].data() + start_[a]; }

  size_t size_;
  std::vector<std::vector<float>> memory_;
  std::vector<size_t> start_;
};

// Fails the test unless values and slots are the same bit for bit.
void ExpectSame(const Arrays& actual, const Arrays& expected);

// A dense update of [begin, end) of `in` to `out`; `gradient` has the gradients
// at the same positions.
DenseUpdate UpdateOf(const Arrays& in, Arrays& out, DType dtype,
                     const std::vector<std::byte>& gradient, size_t begin,
                     size_t end);
// For all elements, in place.
DenseUpdate UpdateOf(Arrays& arrays, DType dtype,
                     const std::vector<std::byte>& gradient);

// The state of one element; an oracle computes the state after update `t`,
// counted from 1, by a rule's formula.
struct Element {
  double value = 0;
  std::array<double, kMaxSlots> slots{};
};
using Oracle = std::function<void(double t, double gradient, Element&)>;

// Compares one update with the oracle, for sizes around those of vectors,
// various misalignments and gradient dtypes, and all of GradientSteps. The
// error may be that of `roundings` roundings of the largest intermediate
// number.
void ExpectUpdates(const Optimizer& optimizer, const Oracle& oracle,
                   int roundings);

// Compares a hundred updates with random gradients against the oracle: the
// relative error must be at most 1e-5.
void ExpectFollows(const Optimizer& optimizer, const Oracle& oracle);

}  // namespace capstan::testing

#include "variable/initialize.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "variable/element_bits.h"
#include "variable/fans.h"
#include "variable/name.h"
#include "variable/normal.h"
#include "variable/orthogonal.h"
#include "variable/validate.h"

namespace capstan {
namespace {

// Elements [begin, end) of the variable, as laid out in `out`.
struct Part {
  const VariableSpec& spec;
  uint64_t begin = 0;
  uint64_t end = 0;
  MutableBytes out;
};

// The 16-bit types convert from float, so these round twice.
template <typename T>
T Convert(double value) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

template <typename T>
double ToDouble(T value) {
  return static_cast<double>(
      static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(
          value));
}

// Writes elements one after the other; the memory need not be aligned.
template <typename T>
class Writer {
 public:
  explicit Writer(MutableBytes out) : next_(out.data()) {}
  void Put(T value) {
    std::memcpy(next_, &value, sizeof(value));
    next_ += sizeof(value);
  }

 private:
  std::byte* next_;
};

// Calls fill(T{}) with the floating C++ type of `dtype`.
template <typename Fill>
void WithFloat(DType dtype, const Fill& fill) {
  switch (dtype) {
    case DType::kF32:
      return fill(float{});
    case DType::kF64:
      return fill(double{});
    case DType::kF16:
      return fill(Float16{});
    case DType::kBF16:
      return fill(BFloat16{});
    default:
      return;  // refused by ValidateSpec
  }
}

// The next number of the type above or below a finite one.
template <typename T>
T Neighbour(T value, bool above) {
  using Integer =
      std::conditional_t<sizeof(T) == 8, int64_t,
                         std::conditional_t<sizeof(T) == 4, int32_t, int16_t>>;
  constexpr Integer kSign = std::numeric_limits<Integer>::min();
  // Read as integers, numbers of one sign are in order, the negative ones in
  // reverse.
  auto bits = std::bit_cast<Integer>(value);
  if (bits < 0) bits = static_cast<Integer>(kSign - bits);
  bits = static_cast<Integer>(above ? bits + 1 : bits - 1);
  if (bits < 0) bits = static_cast<Integer>(kSign - bits);
  return std::bit_cast<T>(bits);
}

// Numbers in [min, max) even after rounding to T, unless T has none there.
template <typename T>
void FillUniform(const Part& part, uint64_t seed, double min, double max) {
  T least = Convert<T>(min);
  if (ToDouble(least) < min) least = Neighbour(least, true);
  T most = Convert<T>(max);
  if (ToDouble(most) >= max) most = Neighbour(most, false);
  double low = ToDouble(least);
  double high = ToDouble(most);
  if (low > high) low = min, high = max;
  Writer<T> writer(part.out);
  const double width = max - min;
  ForEachElementBits(seed, part.begin, part.end, [&](uint64_t bits) {
    const double value =
        min + static_cast<double>(bits >> 11) * 0x1p-53 * width;
    writer.Put(Convert<T>(std::clamp(value, low, high)));
  });
}

template <typename T>
void FillNormal(const Part& part, uint64_t seed, double mean, double stddev) {
  Writer<T> writer(part.out);
  ForEachElementBits(seed, part.begin, part.end, [&](uint64_t bits) {
    writer.Put(Convert<T>(mean + stddev * NormalOf(bits)));
  });
}

template <typename T>
void FillTruncatedNormal(const Part& part, uint64_t seed, double mean,
                         double stddev) {
  Writer<T> writer(part.out);
  ForEachElementBits(seed, part.begin, part.end, [&](uint64_t bits) {
    writer.Put(Convert<T>(mean + stddev * TruncatedNormalOf(bits)));
  });
}

// The same element throughout.
template <typename T>
void FillWith(const Part& part, T value) {
  Writer<T> writer(part.out);
  for (uint64_t i = part.begin; i < part.end; ++i) writer.Put(value);
}

void FillConstant(const Part& part, double value) {
  switch (part.spec.dtype) {
    case DType::kI32:
      return FillWith(part, static_cast<int32_t>(value));
    case DType::kI64:
      return FillWith(part, static_cast<int64_t>(value));
    case DType::kU8:
    case DType::kBool:
      return FillWith(part, static_cast<uint8_t>(value));
    default:
      return WithFloat(part.spec.dtype, [&]<typename T>(T) {
        FillWith(part, Convert<T>(value));
      });
  }
}

// Implements each initializer for a part of a valid variable.
class Filler {
 public:
  explicit Filler(const Part& part) : part_(part) {}

  absl::Status operator()(const Zeros&) const {
    std::fill(part_.out.begin(), part_.out.end(), std::byte{0});
    return absl::OkStatus();
  }
  absl::Status operator()(const Unset&) const { return (*this)(Zeros{}); }
  absl::Status operator()(const Ones&) const {
    FillConstant(part_, 1);
    return absl::OkStatus();
  }
  absl::Status operator()(const Constant& constant) const {
    FillConstant(part_, constant.value);
    return absl::OkStatus();
  }
  absl::Status operator()(const Uniform& uniform) const {
    WithFloat(part_.spec.dtype, [&]<typename T>(T) {
      FillUniform<T>(part_, Seed(uniform.seed), uniform.min, uniform.max);
    });
    return absl::OkStatus();
  }
  absl::Status operator()(const Normal& normal) const {
    WithFloat(part_.spec.dtype, [&]<typename T>(T) {
      FillNormal<T>(part_, Seed(normal.seed), normal.mean, normal.stddev);
    });
    return absl::OkStatus();
  }
  absl::Status operator()(const TruncatedNormal& normal) const {
    WithFloat(part_.spec.dtype, [&]<typename T>(T) {
      FillTruncatedNormal<T>(part_, Seed(normal.seed), normal.mean,
                             normal.stddev);
    });
    return absl::OkStatus();
  }
  absl::Status operator()(const GlorotUniform& glorot) const {
    return UniformOfVariance(GlorotVariance(), glorot.seed);
  }
  absl::Status operator()(const GlorotNormal& glorot) const {
    return NormalOfVariance(GlorotVariance(), glorot.seed);
  }
  absl::Status operator()(const HeUniform& he) const {
    return UniformOfVariance(HeVariance(), he.seed);
  }
  absl::Status operator()(const HeNormal& he) const {
    return NormalOfVariance(HeVariance(), he.seed);
  }
  absl::Status operator()(const Orthogonal& orthogonal) const {
    const auto elements =
        static_cast<uint64_t>(part_.spec.shape.num_elements());
    if (part_.begin != 0 || part_.end != elements) {
      return absl::InvalidArgumentError(absl::StrCat(
          CalledName(part_.spec.name),
          ": initializer Orthogonal: a part of it cannot be made by itself"));
    }
    if (elements == 0) return absl::OkStatus();
    // As in Keras: all axes but the last are rows.
    const auto columns =
        static_cast<size_t>(part_.spec.shape[part_.spec.shape.rank() - 1]);
    const std::vector<double> matrix =
        RandomOrthogonal(static_cast<size_t>(elements) / columns, columns,
                         Seed(orthogonal.seed));
    WithFloat(part_.spec.dtype, [&]<typename T>(T) {
      Writer<T> writer(part_.out);
      for (double value : matrix) {
        writer.Put(Convert<T>(orthogonal.gain * value));
      }
    });
    return absl::OkStatus();
  }

 private:
  uint64_t Seed(const std::optional<uint64_t>& seed) const {
    return seed.has_value() ? *seed : Hash64(part_.spec.name);
  }

  double GlorotVariance() const {
    const Fans fans = FansOf(part_.spec.shape);
    return 1 / std::max(1.0, (fans.in + fans.out) / 2);
  }
  double HeVariance() const {
    return 2 / std::max(1.0, FansOf(part_.spec.shape).in);
  }

  absl::Status UniformOfVariance(double variance,
                                 const std::optional<uint64_t>& seed) const {
    const double limit = std::sqrt(3 * variance);
    return (*this)(Uniform{.min = -limit, .max = limit, .seed = seed});
  }
  absl::Status NormalOfVariance(double variance,
                                const std::optional<uint64_t>& seed) const {
    return (*this)(TruncatedNormal{
        .stddev = std::sqrt(variance) / kTruncatedStddev, .seed = seed});
  }

  const Part& part_;
};

}  // namespace

absl::Status Initialize(const VariableSpec& spec, int64_t begin, int64_t end,
                        MutableBytes out) {
  CAPSTAN_RETURN_IF_ERROR(ValidateSpec(spec));
  const auto refuse = [&](const std::string& why) {
    return absl::InvalidArgumentError(
        absl::StrCat(CalledName(spec.name), ": ", why));
  };
  if (begin < 0 || begin > end || end > spec.shape.num_rows()) {
    return refuse(absl::StrCat("rows [", begin, ", ", end, ") of ",
                               spec.shape.num_rows()));
  }
  const int64_t row = spec.shape.row_elements();
  const Part part{.spec = spec,
                  .begin = static_cast<uint64_t>(begin * row),
                  .end = static_cast<uint64_t>(end * row),
                  .out = out};
  const uint64_t size = (part.end - part.begin) * SizeOf(spec.dtype);
  if (out.size() != size) {
    return refuse(absl::StrCat("initial values of ", size, " bytes into ",
                               out.size(), " bytes"));
  }
  return std::visit(Filler(part), spec.initializer);
}

}  // namespace capstan

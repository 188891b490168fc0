#include "variable/validate.h"

#include <cmath>
#include <limits>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "optimizer/updater.h"
#include "variable/name.h"

namespace capstan {
namespace {

absl::Status Refuse(const VariableSpec& spec, const std::string& why) {
  return absl::InvalidArgumentError(
      absl::StrCat(CalledName(spec.name), ": ", why));
}

std::string DTypeName(DType dtype) { return std::string(NameOf(dtype)); }

// The largest finite number of a floating dtype; 0 for the others.
double LargestOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return std::numeric_limits<float>::max();
    case DType::kF64:
      return std::numeric_limits<double>::max();
    case DType::kF16:
      return 65504;
    case DType::kBF16:
      return 0x1.fep127;
    default:
      return 0;
  }
}

// The range [min, end) of the other dtypes, as exact doubles.
struct IntegerRange {
  double min = 0;
  double end = 0;
};
IntegerRange IntegersOf(DType dtype) {
  switch (dtype) {
    case DType::kI32:
      return {-0x1p31, 0x1p31};
    case DType::kI64:
      return {-0x1p63, 0x1p63};
    case DType::kU8:
      return {0, 256};
    case DType::kBool:
      return {0, 2};
    default:
      return {};
  }
}

// Checks an initializer by itself, against the variable's shape and dtype.
class InitializerCheck {
 public:
  explicit InitializerCheck(const VariableSpec& spec) : spec_(spec) {}

  absl::Status operator()(const Zeros&) const { return absl::OkStatus(); }
  absl::Status operator()(const Ones&) const { return absl::OkStatus(); }
  absl::Status operator()(const Unset&) const { return absl::OkStatus(); }
  absl::Status operator()(const Constant& constant) const {
    if (LargestOf(spec_.dtype) > 0) {
      return Fits("Constant", "value", constant.value);
    }
    const IntegerRange range = IntegersOf(spec_.dtype);
    const double value = constant.value;
    if (value >= range.min && value < range.end && std::trunc(value) == value) {
      return absl::OkStatus();
    }
    return Bad("Constant", "value", value,
               absl::StrCat("it must be a whole number that ",
                            DTypeName(spec_.dtype), " can hold"));
  }
  absl::Status operator()(const Uniform& uniform) const {
    CAPSTAN_RETURN_IF_ERROR(Floating("Uniform"));
    CAPSTAN_RETURN_IF_ERROR(Fits("Uniform", "min", uniform.min));
    CAPSTAN_RETURN_IF_ERROR(Fits("Uniform", "max", uniform.max));
    if (uniform.max < uniform.min) {
      return Bad("Uniform", "max", uniform.max,
                 absl::StrCat("it must not be below min, ", uniform.min));
    }
    if (!std::isfinite(uniform.max - uniform.min)) {
      return Bad("Uniform", "max", uniform.max,
                 absl::StrCat("it is too far from min, ", uniform.min));
    }
    return absl::OkStatus();
  }
  absl::Status operator()(const Normal& normal) const {
    return Gaussian("Normal", normal.mean, normal.stddev);
  }
  absl::Status operator()(const TruncatedNormal& normal) const {
    return Gaussian("TruncatedNormal", normal.mean, normal.stddev);
  }
  absl::Status operator()(const GlorotUniform&) const {
    return Floating("GlorotUniform");
  }
  absl::Status operator()(const GlorotNormal&) const {
    return Floating("GlorotNormal");
  }
  absl::Status operator()(const HeUniform&) const {
    return Floating("HeUniform");
  }
  absl::Status operator()(const HeNormal&) const {
    return Floating("HeNormal");
  }
  absl::Status operator()(const Orthogonal& orthogonal) const {
    CAPSTAN_RETURN_IF_ERROR(Floating("Orthogonal"));
    if (spec_.shape.rank() < 2) {
      return Refuse(spec_, absl::StrCat("initializer Orthogonal: the shape is ",
                                        spec_.shape.ToString(),
                                        "; it needs at least two axes"));
    }
    return Fits("Orthogonal", "gain", orthogonal.gain);
  }

 private:
  absl::Status Bad(const char* initializer, const char* field, double value,
                   const std::string& instead) const {
    return Refuse(spec_, absl::StrCat("initializer ", initializer, ": ", field,
                                      " is ", value, "; ", instead));
  }

  absl::Status Floating(const char* initializer) const {
    if (LargestOf(spec_.dtype) > 0) return absl::OkStatus();
    return Refuse(
        spec_, absl::StrCat("initializer ", initializer, ": the dtype is ",
                            DTypeName(spec_.dtype),
                            "; random numbers need a floating one. Use Zeros, "
                            "Ones or Constant, or Unset and assign"));
  }

  // Finite in the dtype, not just as a double: 70,000 is infinite in f16.
  absl::Status Fits(const char* initializer, const char* field,
                    double value) const {
    if (std::abs(value) <= LargestOf(spec_.dtype)) return absl::OkStatus();
    return Bad(initializer, field, value,
               absl::StrCat("it must be finite in ", DTypeName(spec_.dtype)));
  }

  absl::Status Gaussian(const char* initializer, double mean,
                        double stddev) const {
    CAPSTAN_RETURN_IF_ERROR(Floating(initializer));
    CAPSTAN_RETURN_IF_ERROR(Fits(initializer, "mean", mean));
    if (!(stddev >= 0)) {
      return Bad(initializer, "stddev", stddev, "it must be at least 0");
    }
    // No draw is farther from the mean (normal.h).
    constexpr double kFarthest = 9;
    if (std::abs(mean) + kFarthest * stddev <= LargestOf(spec_.dtype)) {
      return absl::OkStatus();
    }
    return Bad(initializer, "stddev", stddev,
               absl::StrCat("with a mean of ", mean,
                            " some elements would be infinite in ",
                            DTypeName(spec_.dtype)));
  }

  const VariableSpec& spec_;
};

absl::Status CheckCount(const VariableSpec& spec, const char* field, int value,
                        int least) {
  if (value >= least && value <= kMaxReplicas) return absl::OkStatus();
  return Refuse(
      spec, absl::StrCat("update ", field, " is ", value, "; it must be in [",
                         least, ", ", kMaxReplicas, "]"));
}

absl::Status CheckUpdate(const VariableSpec& spec) {
  if (const auto* sync = std::get_if<Sync>(&spec.update)) {
    CAPSTAN_RETURN_IF_ERROR(
        CheckCount(spec, "Sync.replicas", sync->replicas, 1));
    return CheckCount(spec, "Sync.backup", sync->backup, 0);
  }
  if (const auto* bounded = std::get_if<BoundedStaleness>(&spec.update)) {
    CAPSTAN_RETURN_IF_ERROR(
        CheckCount(spec, "BoundedStaleness.replicas", bounded->replicas, 1));
    return CheckCount(spec, "BoundedStaleness.bound", bounded->bound, 0);
  }
  return absl::OkStatus();
}

absl::Status CheckOptimizer(const VariableSpec& spec) {
  if (!spec.optimizer.has_value()) return absl::OkStatus();
  if (spec.dtype != DType::kF32) {
    return Refuse(
        spec, absl::StrCat("optimizer: the dtype is ", DTypeName(spec.dtype),
                           ", and optimizers work on f32 alone; make "
                           "it f32, or leave the optimizer out and "
                           "assign"));
  }
  return WithContext(Updater::Make(*spec.optimizer).status(),
                     absl::StrCat(CalledName(spec.name), ": optimizer"));
}

absl::Status CheckColocation(const VariableSpec& spec) {
  if (spec.colocate_with.empty()) return absl::OkStatus();
  if (spec.colocate_with == spec.name) {
    return Refuse(spec,
                  "colocate_with names the variable itself; leave it "
                  "empty, or name another");
  }
  return WithContext(CheckName(spec.colocate_with),
                     absl::StrCat(CalledName(spec.name), ": colocate_with"));
}

template <typename Enum>
absl::Status CheckEnum(const VariableSpec& spec, const char* field, Enum value,
                       Enum last) {
  if (value <= last) return absl::OkStatus();
  return Refuse(spec, absl::StrCat(field, " is ", static_cast<int>(value),
                                   ", which means nothing"));
}

}  // namespace

absl::Status ValidateSpec(const VariableSpec& spec) {
  CAPSTAN_RETURN_IF_ERROR(CheckName(spec.name));
  if (SizeOf(spec.dtype) == 0) {
    return Refuse(spec, absl::StrCat("dtype is ", static_cast<int>(spec.dtype),
                                     ", which is none"));
  }
  CAPSTAN_RETURN_IF_ERROR(std::visit(InitializerCheck(spec), spec.initializer));
  CAPSTAN_RETURN_IF_ERROR(CheckOptimizer(spec));
  CAPSTAN_RETURN_IF_ERROR(CheckEnum(spec, "aggregation", spec.aggregation,
                                    Aggregation::kOnlyFirstReplica));
  CAPSTAN_RETURN_IF_ERROR(CheckUpdate(spec));
  CAPSTAN_RETURN_IF_ERROR(
      CheckEnum(spec, "non_finite", spec.non_finite, NonFinite::kAccept));
  return CheckColocation(spec);
}

}  // namespace capstan

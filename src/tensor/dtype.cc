#include "tensor/dtype.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace capstan {

size_t SizeOf(DType dtype) noexcept {
  switch (dtype) {
    case DType::kF64:
    case DType::kI64:
      return 8;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kF16:
    case DType::kBF16:
      return 2;
    case DType::kU8:
    case DType::kBool:
      return 1;
  }
  return 0;
}

std::string_view NameOf(DType dtype) noexcept {
  switch (dtype) {
    case DType::kF32:
      return "f32";
    case DType::kF64:
      return "f64";
    case DType::kF16:
      return "f16";
    case DType::kBF16:
      return "bf16";
    case DType::kI32:
      return "i32";
    case DType::kI64:
      return "i64";
    case DType::kU8:
      return "u8";
    case DType::kBool:
      return "bool";
  }
  return "invalid";
}

absl::StatusOr<DType> ParseDType(std::string_view name) {
  for (DType dtype : kAllDTypes) {
    if (NameOf(dtype) == name) return dtype;
  }
  auto append_name = [](std::string* out, DType dtype) {
    out->append(NameOf(dtype));
  };
  // A file may have anything here: show only the beginning.
  constexpr size_t kShown = 32;
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown element type \"", std::string(name.substr(0, kShown)),
      "\"; known are ", absl::StrJoin(kAllDTypes, ", ", append_name)));
}

absl::StatusOr<DType> DTypeFromCode(uint64_t code) {
  for (DType dtype : kAllDTypes) {
    if (CodeOf(dtype) == code) return dtype;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown element type code ", code));
}

}  // namespace capstan

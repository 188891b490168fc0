#include "wire/check_operands.h"

#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace capstan {
namespace {

template <typename T>
absl::Status CheckDivisors(Bytes operands) {
  for (size_t i = 0; i < operands.size() / sizeof(T); ++i) {
    T operand;
    std::memcpy(&operand, operands.data() + i * sizeof(T), sizeof(T));
    if (operand == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("a division of integers by 0 at element ", i));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckBools(Bytes operands) {
  for (size_t i = 0; i < operands.size(); ++i) {
    if (static_cast<uint8_t>(operands[i]) > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("a bool that is neither 0 nor 1 at element ", i));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckOperands(DType dtype, Operation operation, Bytes operands) {
  if (operation == Operation::kGradient) {
    return absl::InternalError("a gradient is the optimizer's");
  }
  if (dtype == DType::kBool) {
    if (operation != Operation::kSet) {
      return absl::InvalidArgumentError(
          absl::StrCat("bools can be set, but have no ",
                       std::string(OperationName(operation))));
    }
    return CheckBools(operands);
  }
  if (operation != Operation::kDiv) return absl::OkStatus();
  if (dtype == DType::kI32) return CheckDivisors<int32_t>(operands);
  if (dtype == DType::kI64) return CheckDivisors<int64_t>(operands);
  if (dtype == DType::kU8) return CheckDivisors<uint8_t>(operands);
  return absl::OkStatus();
}

}  // namespace capstan

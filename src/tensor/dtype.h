// Element types that come from outside: by name from a file or a flag, by code
// from the wire. The type itself, its size and its name are public, in
// capstan/tensor.h.
// Thread-safe: constants and pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "capstan/tensor.h"

namespace capstan {

// Every DType, in the order of the codes.
inline constexpr std::array kAllDTypes = {
    DType::kF32, DType::kF64, DType::kF16, DType::kBF16,
    DType::kI32, DType::kI64, DType::kU8,  DType::kBool,
};

// The type that NameOf calls `name`, case-sensitive. An unknown name gives
// kInvalidArgument listing the valid names.
absl::StatusOr<DType> ParseDType(std::string_view name);

// The code of `dtype` on the wire and in files.
constexpr uint8_t CodeOf(DType dtype) { return static_cast<uint8_t>(dtype); }

// The type with that code; any other number gives kInvalidArgument. As wide as
// a varint, so that no caller narrows a number before it is checked.
absl::StatusOr<DType> DTypeFromCode(uint64_t code);

}  // namespace capstan

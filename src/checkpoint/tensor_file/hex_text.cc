#include "checkpoint/tensor_file/hex_text.h"

#include "absl/strings/str_cat.h"

namespace capstan {
namespace {

constexpr size_t kDigits32 = 8;
constexpr size_t kDigits64 = 16;

std::optional<uint64_t> Parse(std::string_view text, size_t digits) {
  if (text.size() != digits) return std::nullopt;
  uint64_t value = 0;
  for (const char c : text) {
    uint64_t digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<uint64_t>(c - 'a') + 10;
    } else {
      return std::nullopt;
    }
    value = value << 4 | digit;
  }
  return value;
}

}  // namespace

std::string Hex32(uint32_t value) {
  return absl::StrCat(absl::Hex(value, absl::kZeroPad8));
}

std::string Hex64(uint64_t value) {
  return absl::StrCat(absl::Hex(value, absl::kZeroPad16));
}

std::optional<uint32_t> ParseHex32(std::string_view text) {
  const std::optional<uint64_t> value = Parse(text, kDigits32);
  if (!value) return std::nullopt;
  return static_cast<uint32_t>(*value);
}

std::optional<uint64_t> ParseHex64(std::string_view text) {
  return Parse(text, kDigits64);
}

}  // namespace capstan

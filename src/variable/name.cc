#include "variable/name.h"

#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace capstan {
namespace {

constexpr uint32_t kNoCharacter = UINT32_MAX;

// Removes the first character from `text`, which must not be empty, and returns
// its code point, or kNoCharacter if the bytes are not UTF-8 (RFC 3629: no
// surrogates, and each character in its shortest form).
uint32_t TakeCharacter(std::string_view& text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  size_t size = 1;
  uint32_t point = first;
  uint32_t smallest = 0;  // code point that needs this many bytes
  if (first >= 0xf0 && first <= 0xf4) {
    size = 4, point = first & 0x07, smallest = 0x10000;
  } else if (first >= 0xe0 && first < 0xf0) {
    size = 3, point = first & 0x0f, smallest = 0x800;
  } else if (first >= 0xc2 && first < 0xe0) {
    size = 2, point = first & 0x1f, smallest = 0x80;
  } else if (first >= 0x80) {
    return kNoCharacter;
  }
  if (text.size() < size) return kNoCharacter;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return kNoCharacter;
    point = point << 6 | (byte(i) & 0x3f);
  }
  const bool surrogate = point >= 0xd800 && point < 0xe000;
  if (point < smallest || point > 0x10ffff || surrogate) return kNoCharacter;
  text.remove_prefix(size);
  return point;
}

bool IsControl(uint32_t point) {
  return point < 0x20 || (point >= 0x7f && point < 0xa0);
}

bool IsPrintable(std::string_view text) {
  while (!text.empty()) {
    const uint32_t point = TakeCharacter(text);
    if (point == kNoCharacter || IsControl(point)) return false;
  }
  return true;
}

}  // namespace

absl::Status CheckName(std::string_view name) {
  if (name.empty()) {
    return absl::InvalidArgumentError(
        "a variable without a name; give every variable one of its own");
  }
  if (name.size() > kMaxNameBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(CalledName(name), ": the name has ", name.size(),
                     " bytes; the most is ", kMaxNameBytes));
  }
  if (!IsPrintable(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat(CalledName(name),
                     ": the name must be UTF-8 without control characters"));
  }
  return absl::OkStatus();
}

std::string CalledName(std::string_view name) {
  constexpr size_t kShown = 64;  // of an overlong name
  const bool whole = name.size() <= kMaxNameBytes;
  const std::string_view shown = whole ? name : name.substr(0, kShown);
  const std::string_view rest = whole ? "\"" : "...\"";
  return absl::StrCat("variable \"",
                      IsPrintable(shown)
                          ? std::string(shown)
                          : absl::CHexEscape({shown.data(), shown.size()}),
                      std::string(rest));
}

}  // namespace capstan

// Numbers as written in the files of a checkpoint: a fixed number of lower-case
// hexadecimal digits, so that each number has only one text.
// Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace capstan {

// 8 and 16 digits.
std::string Hex32(uint32_t value);
std::string Hex64(uint64_t value);

// The number whose text is `text`; nullopt if it is not the text of a number.
std::optional<uint32_t> ParseHex32(std::string_view text);
std::optional<uint64_t> ParseHex64(std::string_view text);

}  // namespace capstan

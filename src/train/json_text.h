// Single values as JSON.
#pragma once

#include <string>
#include <string_view>

namespace capstan {

// Reads back as the same number; "null" for values that JSON cannot represent.
std::string JsonNumber(double value);
// Quoted and escaped.
std::string JsonString(std::string_view text);

}  // namespace capstan

// Single values as JSON.
#pragma once

#include <string>
#include <string_view>

namespace capstan {

// Such that it reads back as the same number; "null" for what JSON has no
// number for.
std::string JsonNumber(double value);
// With its quotes.
std::string JsonString(std::string_view text);

}  // namespace capstan

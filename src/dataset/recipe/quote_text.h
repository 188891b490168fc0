// Quoting text from a file for messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace capstan {

// Quoted, printable, and no longer than a line.
std::string QuoteText(std::string_view text);

// The first names, quoted, and how many more there are.
std::string QuoteNames(const std::vector<std::string>& names);

}  // namespace capstan

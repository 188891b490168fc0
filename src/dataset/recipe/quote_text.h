// Text from a file, for messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace capstan {

// In quotes, printable, and no longer than a line.
std::string QuoteText(std::string_view text);

// The first of them so, and how many more there are.
std::string QuoteNames(const std::vector<std::string>& names);

}  // namespace capstan

// Text from a file, for messages.
#pragma once

#include <string>
#include <string_view>

namespace capstan {

// In quotes, printable, and no longer than a line.
std::string QuoteText(std::string_view text);

}  // namespace capstan

// Makes text from elsewhere safe to print on a terminal. Pure; thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace capstan {

// `text` with its control characters, which could move the cursor or worse,
// written as "\x1b".
std::string Printable(std::string_view text);

}  // namespace capstan

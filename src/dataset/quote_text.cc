#include "dataset/quote_text.h"

#include "absl/strings/escaping.h"
#include "dataset/cat.h"

namespace capstan {

std::string QuoteText(std::string_view text) {
  constexpr std::size_t kMost = 60;
  const bool cut = text.size() > kMost;
  return Cat("\"", absl::CHexEscape(ToAbsl(text.substr(0, kMost))),
             cut ? "...\"" : "\"");
}

}  // namespace capstan

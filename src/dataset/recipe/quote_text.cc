#include "dataset/recipe/quote_text.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/cat.h"

namespace capstan {

std::string QuoteText(std::string_view text) {
  constexpr std::size_t kMost = 60;
  const bool cut = text.size() > kMost;
  return Cat("\"", absl::CHexEscape(ToAbsl(text.substr(0, kMost))),
             cut ? "...\"" : "\"");
}

std::string QuoteNames(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) {
    absl::StrAppend(&text, i > 0 ? ", " : "", QuoteText(names[i]));
  }
  if (names.size() > kMost) {
    absl::StrAppend(&text, " and ", names.size() - kMost, " more");
  }
  return text;
}

}  // namespace capstan

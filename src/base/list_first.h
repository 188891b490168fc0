// Lists in messages.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace capstan {

// "a, b, c and 7 more": at most the first `most` of `items`.
inline std::string ListFirst(const std::vector<std::string>& items,
                             size_t most) {
  std::string text;
  for (size_t i = 0; i < items.size() && i < most; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", items[i]);
  }
  if (items.size() > most) {
    absl::StrAppend(&text, " and ", items.size() - most, " more");
  }
  return text;
}

}  // namespace capstan

// Text of a file as it may stand in an error: whoever wrote the file may be an
// enemy, and the error ends up on a terminal.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace capstan {

// In quotes, escaped, and its beginning only if it is long.
inline std::string Shown(std::string_view text) {
  constexpr size_t kMostShown = 200;
  const absl::string_view shown(text.data(), std::min(text.size(), kMostShown));
  return absl::StrCat("\"", absl::Utf8SafeCEscape(shown),
                      text.size() > kMostShown ? "...\"" : "\"");
}

}  // namespace capstan

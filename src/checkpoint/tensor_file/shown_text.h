// Text from a file, made safe for an error message: whoever wrote the file may
// be an attacker, and the error ends up on a terminal.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace capstan {

// Quoted, escaped, and truncated if it is long.
inline std::string Shown(std::string_view text) {
  constexpr size_t kMostShown = 200;
  const absl::string_view shown(text.data(), std::min(text.size(), kMostShown));
  return absl::StrCat("\"", absl::Utf8SafeCEscape(shown),
                      text.size() > kMostShown ? "...\"" : "\"");
}

}  // namespace capstan

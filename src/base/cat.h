// absl::StrCat for messages, accepting std::string_view, which differs from
// absl::string_view on Debian.
#pragma once

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace capstan {

inline absl::string_view ToAbsl(std::string_view text) {
  return {text.data(), text.size()};
}
template <typename T>
const T& ToAbsl(const T& value) {
  return value;
}
inline absl::string_view ToAbsl(const char* text) { return text; }
inline absl::string_view ToAbsl(const std::string& text) { return text; }

// The values as text, concatenated.
template <typename... Ts>
std::string Cat(const Ts&... values) {
  return absl::StrCat(ToAbsl(values)...);
}

}  // namespace capstan

// Helpers for messages about what a user wrote: quoting, numbers, suggestions.
// Pure functions; thread-safe.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"

namespace capstan {

// kInvalidArgument with a message formatted as by fmt::format.
template <typename... Args>
absl::Status Invalid(fmt::format_string<Args...> format, Args&&... args) {
  return absl::InvalidArgumentError(
      fmt::format(format, std::forward<Args>(args)...));
}

// `text` in double quotes, on one line: control characters are escaped, and
// text longer than 80 bytes is truncated ("abc...").
std::string Quoted(std::string_view text);

// `text` as a whole number: digits only, from `least` to `most`. nullopt for
// anything else, including a sign or a blank.
std::optional<int> ParseWhole(std::string_view text, int least, int most);

// `; did you mean "worker"?` if `word` is close to one of `known`, else "".
std::string DidYouMean(std::string_view word,
                       std::span<const std::string_view> known);

// "1 worker", "2 workers".
std::string Counted(size_t count, std::string_view noun);

// "chief, worker, ps".
std::string Joined(std::span<const std::string_view> words);

}  // namespace capstan

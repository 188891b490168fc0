#include "cluster/text.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <vector>

namespace capstan {
namespace {

constexpr size_t kMaxQuoted = 80;

// The number of letters to insert, delete or replace to turn a into b.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text.substr(0, kMaxQuoted)) {
    if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + (text.size() > kMaxQuoted ? "...\"" : "\"");
}

std::optional<int> ParseWhole(std::string_view text, int least, int most) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || text.front() == '-' || error != std::errc() ||
      stop != end || value < least || value > most) {
    return std::nullopt;
  }
  return value;
}

std::string DidYouMean(std::string_view word,
                       std::span<const std::string_view> known) {
  // A longer word is not a misspelling, and not worth the quadratic time.
  if (word.empty() || word.size() > 40) return "";
  std::string_view nearest;
  size_t least = 3;
  for (const std::string_view candidate : known) {
    // Two wrong letters in a word of two, such as "ps", mean nothing.
    const size_t distance = EditDistance(word, candidate);
    if (distance < least && 2 * distance < candidate.size() + 1) {
      nearest = candidate;
      least = distance;
    }
  }
  return nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest);
}

std::string Counted(size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun,
                     count == 1 || noun.ends_with('s') ? "" : "s");
}

std::string Joined(std::span<const std::string_view> words) {
  std::string joined;
  for (const std::string_view word : words) {
    if (!joined.empty()) joined += ", ";
    joined += word;
  }
  return joined;
}

}  // namespace capstan

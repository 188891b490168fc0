#include "cli/nearest_word.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace capstan {

size_t EditDistance(std::string_view a, std::string_view b) {
  // The distances between the first i, i - 1 and i - 2 letters of `a` and the
  // first j of `b`.
  std::vector<size_t> row(b.size() + 1);
  std::vector<size_t> above(b.size() + 1);
  std::vector<size_t> two_above(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    std::swap(two_above, above);
    std::swap(above, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], two_above[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

std::string NearestWord(std::string_view word,
                        const std::vector<std::string>& known) {
  constexpr size_t kMaxDistance = 2;
  // A longer word is unlikely to be a misspelling and not worth the quadratic
  // time.
  constexpr size_t kMaxLength = 40;
  if (word.empty() || word.size() > kMaxLength) return "";
  std::string nearest;
  size_t least = kMaxDistance + 1;
  for (const std::string& candidate : known) {
    const size_t distance = EditDistance(word, candidate);
    if (distance < least && 2 * distance < candidate.size()) {
      nearest = candidate;
      least = distance;
    }
  }
  return nearest;
}

}  // namespace capstan

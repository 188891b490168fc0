#include "server/shard/row_ranges.h"

#include <algorithm>
#include <iterator>

namespace capstan {

void RowRanges::Add(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  // Merges all ranges that touch it.
  auto next = ends_.upper_bound(begin);
  if (next != ends_.begin() && std::prev(next)->second >= begin) {
    next = std::prev(next);
    begin = next->first;
  }
  while (next != ends_.end() && next->first <= end) {
    end = std::max(end, next->second);
    next = ends_.erase(next);
  }
  ends_.emplace(begin, end);
}

void RowRanges::Remove(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  auto next = ends_.upper_bound(begin);
  if (next != ends_.begin()) next = std::prev(next);
  while (next != ends_.end() && next->first < end) {
    const auto [first, last] = *next;
    if (last <= begin) {
      ++next;
      continue;
    }
    next = ends_.erase(next);
    if (first < begin) ends_.emplace(first, begin);
    if (end < last) ends_.emplace(end, last);
  }
}

std::optional<std::pair<uint64_t, uint64_t>> RowRanges::FirstMissing(
    uint64_t rows) const {
  uint64_t begin = 0;
  auto next = ends_.begin();
  if (next != ends_.end() && next->first == 0) {
    begin = next->second;
    ++next;
  }
  if (begin >= rows) return std::nullopt;
  const uint64_t end = next == ends_.end() ? rows : std::min(rows, next->first);
  return std::pair(begin, end);
}

}  // namespace capstan

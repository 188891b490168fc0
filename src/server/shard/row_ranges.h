// Which rows have arrived, in any order and in any pieces.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace capstan {

// A set of rows, kept as ranges. Not thread-safe.
class RowRanges {
 public:
  // Rows [begin, end); does nothing if the range is empty.
  void Add(uint64_t begin, uint64_t end);
  void Remove(uint64_t begin, uint64_t end);
  // The first range of [0, rows) that is missing; nullopt if none is.
  std::optional<std::pair<uint64_t, uint64_t>> FirstMissing(
      uint64_t rows) const;

 private:
  std::map<uint64_t, uint64_t> ends_;  // by begin; neither touch nor overlap
};

}  // namespace capstan

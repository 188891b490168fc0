// The duration of the latest requests.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace capstan {

// The latest kSize durations in microseconds. Not thread-safe.
class LatencyWindow {
 public:
  static constexpr size_t kSize = 256;

  void Add(uint64_t microseconds) { values_[next_++ % kSize] = microseconds; }

  // 0 if there is none.
  uint64_t Mean() const {
    const size_t count = Count();
    if (count == 0) return 0;
    return std::accumulate(values_.begin(), values_.begin() + Offset(count),
                           uint64_t{0}) /
           count;
  }

  uint64_t Percentile(double share) const {
    const size_t count = Count();
    if (count == 0) return 0;
    std::vector<uint64_t> sorted(values_.begin(),
                                 values_.begin() + Offset(count));
    const auto rank = static_cast<size_t>(
        std::lround(share * static_cast<double>(count - 1)));
    std::nth_element(sorted.begin(), sorted.begin() + Offset(rank),
                     sorted.end());
    return sorted[rank];
  }

 private:
  static std::ptrdiff_t Offset(size_t count) {
    return static_cast<std::ptrdiff_t>(count);
  }
  size_t Count() const { return std::min(next_, kSize); }

  std::array<uint64_t, kSize> values_{};
  size_t next_ = 0;
};

}  // namespace capstan

#include "telemetry/metric.h"

#include <algorithm>
#include <cmath>

namespace capstan {

Histogram::Histogram(std::span<const double> bounds)
    : bounds_(bounds.begin(), bounds.end()),
      counts_(std::make_unique<std::atomic<uint64_t>[]>(bounds.size() + 1)) {}

void Histogram::Observe(double value) {
  const bool is_nan = std::isnan(value);
  const auto bucket =
      is_nan ? bounds_.end()
             : std::lower_bound(bounds_.begin(), bounds_.end(), value);
  counts_[static_cast<size_t>(bucket - bounds_.begin())].fetch_add(
      1, std::memory_order_relaxed);
  if (!is_nan) sum_.Add(value);
}

std::vector<uint64_t> Histogram::counts() const {
  std::vector<uint64_t> counts(bounds_.size() + 1);
  for (size_t i = 0; i < counts.size(); ++i) {
    counts[i] = counts_[i].load(std::memory_order_relaxed);
  }
  return counts;
}

}  // namespace capstan

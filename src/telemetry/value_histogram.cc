#include "telemetry/value_histogram.h"

#include <algorithm>
#include <cmath>

namespace capstan {
namespace {

template <typename Value>
void Measure(std::span<const Value> values, ValueHistogram& result) {
  for (const Value value : values) {
    if (!std::isfinite(value)) continue;
    const double number = value;
    result.min = result.count == 0 ? number : std::min(result.min, number);
    result.max = result.count == 0 ? number : std::max(result.max, number);
    result.count += 1;
    result.sum += number;
    result.sum_of_squares += number * number;
  }
}

template <typename Value>
ValueHistogram Spread(std::span<const Value> values, size_t buckets) {
  ValueHistogram result;
  Measure(values, result);
  if (result.count == 0) return result;
  // Halved, since the difference of two doubles may overflow.
  const double half_width = result.max / 2 - result.min / 2;
  if (half_width == 0 || buckets <= 1) {
    result.limits = {result.max};
    result.counts = {result.count};
    return result;
  }
  const auto number = static_cast<double>(buckets);
  for (size_t i = 1; i < buckets; ++i) {
    const double part = static_cast<double>(i) / number;
    result.limits.push_back(result.min * (1 - part) + result.max * part);
  }
  result.limits.push_back(result.max);
  result.counts.resize(buckets);
  for (const Value value : values) {
    if (!std::isfinite(value)) continue;
    // Searches the limits themselves, so that rounding cannot make counts and
    // limits disagree.
    const auto limit = std::lower_bound(result.limits.begin(),
                                        result.limits.end() - 1, double{value});
    result.counts[static_cast<size_t>(limit - result.limits.begin())] += 1;
  }
  return result;
}

}  // namespace

ValueHistogram SpreadOf(std::span<const float> values, size_t buckets) {
  return Spread(values, buckets);
}

ValueHistogram SpreadOf(std::span<const double> values, size_t buckets) {
  return Spread(values, buckets);
}

ValueHistogram SpreadOf(const Histogram& histogram) {
  const std::vector<double>& bounds = histogram.bounds();
  const std::vector<uint64_t> counts = histogram.counts();
  const auto used = [](uint64_t count) { return count > 0; };
  const auto first = std::find_if(counts.begin(), counts.end(), used);
  const auto last = std::find_if(counts.rbegin(), counts.rend(), used).base();
  ValueHistogram result;
  result.sum = histogram.sum();
  for (auto count = first; count < last; ++count) {
    const auto i = static_cast<size_t>(count - counts.begin());
    // Values above all bounds are shown at the last bound, since their bucket
    // has no end; the lowest bucket is shown as starting at 0, since most
    // measurements are positive.
    const double upper =
        bounds.empty() ? 0 : bounds[std::min(i, bounds.size() - 1)];
    const double lower = i == 0 ? std::min(0.0, upper) : bounds[i - 1];
    const double middle = lower / 2 + upper / 2;
    if (count == first) result.min = lower;
    result.max = upper;
    result.count += static_cast<double>(*count);
    result.sum_of_squares += static_cast<double>(*count) * middle * middle;
    result.limits.push_back(upper);
    result.counts.push_back(static_cast<double>(*count));
  }
  return result;
}

}  // namespace capstan

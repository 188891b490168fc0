// The distribution of values, in the form that TensorBoard draws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "telemetry/metric.h"

namespace capstan {

// Counts of values by size. Bucket i holds the values above limits[i - 1] (the
// first: from `min` on) up to limits[i]. A value; copy it freely.
struct ValueHistogram {
  double min = 0;
  double max = 0;
  double count = 0;
  double sum = 0;
  double sum_of_squares = 0;
  std::vector<double> limits;  // ascending; same size as counts
  std::vector<double> counts;
};

// The finite ones of `values` in `buckets` (at least 1) equally wide buckets
// from the least to the greatest; one bucket if all are equal, none if there
// are no finite values. Non-finite values are left out: they have no place on
// an axis. Pure; thread-safe.
ValueHistogram SpreadOf(std::span<const float> values, size_t buckets = 30);
ValueHistogram SpreadOf(std::span<const double> values, size_t buckets = 30);

// What has been observed so far. A Histogram does not keep the minimum, the
// maximum or the squares: they are estimated from the bounds of the non-empty
// buckets.
ValueHistogram SpreadOf(const Histogram& histogram);

}  // namespace capstan

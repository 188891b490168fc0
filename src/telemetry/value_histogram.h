// How values are spread, in the form that TensorBoard draws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "telemetry/metric.h"

namespace capstan {

// Counts of values by size. Bucket i holds what is above limits[i - 1] (the
// first: from `min` on) up to limits[i]. A value; copy it as you like.
struct ValueHistogram {
  double min = 0;
  double max = 0;
  double count = 0;
  double sum = 0;
  double sum_of_squares = 0;
  std::vector<double> limits;  // ascending; as many as counts
  std::vector<double> counts;
};

// The finite ones of `values` in `buckets` (at least 1) equally wide buckets
// from the least to the greatest; fewer if all are equal (one) or there are
// none (none). What is not finite is left out: it has no place on an axis.
// Pure; thread-safe.
ValueHistogram SpreadOf(std::span<const float> values, size_t buckets = 30);
ValueHistogram SpreadOf(std::span<const double> values, size_t buckets = 30);

// What was observed so far. Least, greatest and squares are not known of it:
// they are guessed from the bounds of the buckets that hold anything.
ValueHistogram SpreadOf(const Histogram& histogram);

}  // namespace capstan

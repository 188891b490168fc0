// How an input is cut into ranges, and in which order an epoch reads them:
// everything is computed from the options, nothing is stored.
// Pure functions; thread-safe.
#pragma once

#include <compare>
#include <cstdint>

#include "base/status.h"
#include "capstan/dataset.h"

namespace capstan {

// A range by its position: its epoch, and its place in that epoch's order.
struct RangeId {
  uint64_t epoch = 0;
  uint64_t index = 0;
  friend auto operator<=>(const RangeId&, const RangeId&) = default;
};

// kInvalidArgument, naming the field, for options that give no ranges. The
// other functions require valid options.
absl::Status CheckOptions(const DataRangesOptions& options);

// The number of ranges in each epoch.
uint64_t RangesPerEpoch(const DataRangesOptions& options);

// The range at a position; id.index must be below RangesPerEpoch.
DataRange RangeAt(const DataRangesOptions& options, const RangeId& id);

}  // namespace capstan

// How an input is cut into ranges, and in which order an epoch reads them: all
// of it is arithmetic on the options, nothing is stored.
// Pure functions; thread-safe.
#pragma once

#include <compare>
#include <cstdint>

#include "base/status.h"
#include "capstan/dataset.h"

namespace capstan {

// A range by its place: in which epoch, and where in that epoch's order.
struct RangeId {
  uint64_t epoch = 0;
  uint64_t index = 0;
  friend auto operator<=>(const RangeId&, const RangeId&) = default;
};

// kInvalidArgument, naming the field, for options that make no ranges. The
// other functions ask for options that are OK.
absl::Status CheckOptions(const DataRangesOptions& options);

// How many ranges there are in each epoch.
uint64_t RangesPerEpoch(const DataRangesOptions& options);

// The range at a place; id.index must be below RangesPerEpoch.
DataRange RangeAt(const DataRangesOptions& options, const RangeId& id);

}  // namespace capstan

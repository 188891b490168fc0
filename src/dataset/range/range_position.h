// Which ranges of an input are done, as a value and as the text that
// DataRanges::Save returns to users, who keep it beside a checkpoint:
//
//   capstan-ranges 1 examples=1000 batch=32 seed=7 shuffle=1 drop=0 epoch=3
//   next=17 open=3:12,3:15
//
// on one line; docs/data.md describes it.
// Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "capstan/dataset.h"
#include "dataset/range/cut.h"

namespace capstan {

// All ranges before {epoch, next} are done, except those in `open`.
struct RangePosition {
  DataRangesOptions options;
  uint64_t epoch = 0;
  uint64_t next = 0;          // at most RangesPerEpoch
  std::vector<RangeId> open;  // ascending, all before {epoch, next}
};

// "examples=1000 batch=32 seed=7 shuffle=1 drop=0".
std::string DescribeOptions(const DataRangesOptions& options);

std::string FormatPosition(const RangePosition& position);

// The position that FormatPosition turned into `text`, valid as described
// above; or kInvalidArgument, which says what is wrong with the text.
absl::StatusOr<RangePosition> ParsePosition(std::string_view text);

}  // namespace capstan

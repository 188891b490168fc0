#include "dataset/range/cut.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "dataset/recipe/shuffle.h"

namespace capstan {

absl::Status CheckOptions(const DataRangesOptions& options) {
  if (options.examples < 0) {
    return absl::InvalidArgumentError(absl::StrCat("DataRanges: examples is ",
                                                   options.examples,
                                                   "; it must be at least 0"));
  }
  if (options.batch < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "DataRanges: batch is ", options.batch, "; it must be at least 1"));
  }
  return absl::OkStatus();
}

uint64_t RangesPerEpoch(const DataRangesOptions& options) {
  const bool remainder = options.examples % options.batch != 0;
  return static_cast<uint64_t>(options.examples / options.batch) +
         (remainder && !options.drop_remainder ? 1 : 0);
}

DataRange RangeAt(const DataRangesOptions& options, const RangeId& id) {
  const uint64_t place = options.shuffle
                             ? ShuffledAt(options.seed, id.epoch,
                                          RangesPerEpoch(options), id.index)
                             : id.index;
  const int64_t begin = static_cast<int64_t>(place) * options.batch;
  // Not the smaller of two ends, because one of them may overflow.
  const int64_t size = std::min(options.batch, options.examples - begin);
  return {begin, begin + size, id.epoch, id.index};
}

}  // namespace capstan

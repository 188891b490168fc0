// The ledger of a DataRanges: how far the epoch is, and which ranges before
// that are out or have come back. Tickets write into it when they end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>

#include "base/status.h"
#include "capstan/dataset.h"
#include "dataset/range/cut.h"
#include "dataset/range/range_position.h"

namespace capstan {

// A range is, in turn: to come; out; done, or back and then out again.
//
// Thread-safe.
class RangeLedger {
 public:
  // A range that is now out. The term is which life of the ledger it is of: a
  // restore begins the next one, in which the old leases count for nothing.
  struct Lease {
    uint64_t term = 0;
    DataRange range;
  };

  // `options` are OK (CheckOptions).
  explicit RangeLedger(const DataRangesOptions& options);

  // As DataRanges::Next.
  std::optional<Lease> Take();

  // The range of a lease is done, or back. Each lease ends once, by one of
  // these. They allocate nothing, so that destructors may call them.
  void Done(uint64_t term, const RangeId& id) noexcept;
  void GiveBack(uint64_t term, const RangeId& id) noexcept;

  // Goes to `position`, whose open ranges are then back, or answers
  // kFailedPrecondition if it is of other options.
  absl::Status GoTo(const RangePosition& position);

  RangePosition position() const;
  uint64_t epoch() const;
  uint64_t ranges_per_epoch() const { return ranges_per_epoch_; }
  size_t num_out() const;

 private:
  Lease MakeLease(const RangeId& id) const;

  const DataRangesOptions options_;
  const uint64_t ranges_per_epoch_;

  mutable std::mutex mutex_;
  uint64_t term_ = 0;       // guarded by mutex_
  uint64_t epoch_ = 0;      // guarded by mutex_
  uint64_t next_ = 0;       // guarded by mutex_; index of the next to come
  std::set<RangeId> out_;   // guarded by mutex_
  std::set<RangeId> back_;  // guarded by mutex_
};

}  // namespace capstan

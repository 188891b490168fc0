// The ledger of a DataRanges: how far the epoch has got, and which ranges
// before that point are out or were returned. Tickets update it when they end.
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

// The states of a range: to come; out; then done, or returned and out again.
//
// Thread-safe.
class RangeLedger {
 public:
  // A range that is now out. The term says which life of the ledger it belongs
  // to: a restore begins a new one, in which the old leases have no effect.
  struct Lease {
    uint64_t term = 0;
    DataRange range;
  };

  // `options` must be valid (CheckOptions).
  explicit RangeLedger(const DataRangesOptions& options);

  // As DataRanges::Next.
  std::optional<Lease> Take();

  // Reports the range of a lease done or returned. Each lease ends once, by one
  // of these. They do not allocate, so that destructors may call them.
  void Done(uint64_t term, const RangeId& id) noexcept;
  void GiveBack(uint64_t term, const RangeId& id) noexcept;

  // Moves to `position`, whose open ranges then count as returned. Returns
  // kFailedPrecondition if it was made with other options.
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
  uint64_t next_ = 0;       // guarded by mutex_; index of the next range
  std::set<RangeId> out_;   // guarded by mutex_
  std::set<RangeId> back_;  // guarded by mutex_
};

}  // namespace capstan

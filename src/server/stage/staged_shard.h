// The contents that a shard is to have after a restore, while they are
// assembled.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "base/bytes.h"
#include "base/status.h"
#include "server/shard/row_ranges.h"
#include "server/shard/shard.h"

namespace capstan {

// Thread-safe. Parts are as in Shard: 0 is the values, i is slot i. After Take
// every call returns Aborted, so that a late one cannot touch what the shard
// holds by then.
class StagedShard {
 public:
  explicit StagedShard(const Shard& shard)
      : owner_(shard.shared_from_this()), shard_(shard) {}
  const Shard& shard() const { return shard_; }

  // The memory of all parts; null: none.
  using Parts = std::array<std::shared_ptr<Values>, kMaxParts>;

  // True once, for the caller that is to look for spare memory of the shard.
  bool AsksForSpares();
  // Spare memory, for parts that have none yet.
  void Lend(Parts spares);

  // Call before writing rows [begin, end) of `part`, which must be within it:
  // allocates memory for the part, and marks the rows as missing.
  // ResourceExhausted if there is no memory.
  absl::Status BeginRows(size_t part, uint64_t begin, uint64_t end);
  // Writes bytes of the part from `offset` on, in rows that were begun.
  // InvalidArgument if they are not valid values of its type.
  absl::Status Write(size_t part, uint64_t offset, Bytes bytes);
  // Write without a copy: `fill` puts the bytes in place, or fails. Other calls
  // wait meanwhile. Not for bools, whose values would not be checked.
  absl::Status Fill(size_t part, uint64_t offset, size_t size,
                    const std::function<absl::Status(MutableBytes into)>& fill);
  // Marks the rows as present.
  absl::Status EndRows(size_t part, uint64_t begin, uint64_t end);

  // OK if all rows of the values, and of the slots if `slots`, are present.
  // Else FailedPrecondition, naming the first that are missing.
  absl::Status CheckWhole(bool slots) const;
  // Sets the slots to their initial values, whatever was staged.
  absl::Status ResetSlots();

  // Takes the memory of all parts. CheckWhole must have returned OK, or the
  // shard have no rows.
  absl::StatusOr<Parts> Take();
  // Frees the memory.
  void Close();

 private:
  struct Part {
    std::shared_ptr<Values> memory;
    RowRanges rows;
  };
  absl::Status CheckOpen() const;
  absl::Status MakeRoom(size_t part, enum Fill fill);

  // A later map may drop the shard before this object is destroyed.
  const std::shared_ptr<const Shard> owner_;
  const Shard& shard_;
  mutable std::mutex mutex_;
  std::array<Part, kMaxParts> parts_;  // guarded by mutex_
  bool asked_ = false;                 // guarded by mutex_
  bool closed_ = false;                // guarded by mutex_
};

}  // namespace capstan

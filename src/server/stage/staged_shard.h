// What a shard is to hold after a restore, while it is put together.
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

// Thread-safe. Parts are as in Shard: 0 is the values, i the i-th slot. After
// Take every call is Aborted, so that one that comes late cannot touch what the
// shard holds by then.
class StagedShard {
 public:
  explicit StagedShard(const Shard& shard)
      : owner_(shard.shared_from_this()), shard_(shard) {}
  const Shard& shard() const { return shard_; }

  // The memory of all parts; null: none.
  using Parts = std::array<std::shared_ptr<Values>, kMaxParts>;

  // True once, to who is to look for memory that the shard has to spare.
  bool AsksForSpares();
  // Such memory, for parts that have none yet.
  void Lend(Parts spares);

  // Before rows [begin, end) of `part` are written, which must be its own:
  // makes room for the part, and forgets that the rows were there.
  // ResourceExhausted if there is no memory.
  absl::Status BeginRows(size_t part, uint64_t begin, uint64_t end);
  // Bytes of the part from `offset` on, in rows that were begun.
  // InvalidArgument if they are no values of its type.
  absl::Status Write(size_t part, uint64_t offset, Bytes bytes);
  // The same without a copy: `fill` puts the bytes where they belong, or fails.
  // Others wait meanwhile. Not for bools, whose values nobody would look at.
  absl::Status Fill(size_t part, uint64_t offset, size_t size,
                    const std::function<absl::Status(MutableBytes into)>& fill);
  // The rows are there.
  absl::Status EndRows(size_t part, uint64_t begin, uint64_t end);

  // OK if all rows of the values, and of the slots if these are wanted, are
  // there. Else FailedPrecondition, naming the first that are not.
  absl::Status CheckWhole(bool slots) const;
  // Gives the slots the values that they begin with, whatever was staged.
  absl::Status ResetSlots();

  // The memory of all parts. Whole before, or empty where the shard is.
  absl::StatusOr<Parts> Take();
  // Lets go of the memory.
  void Close();

 private:
  struct Part {
    std::shared_ptr<Values> memory;
    RowRanges rows;
  };
  absl::Status CheckOpen() const;
  absl::Status MakeRoom(size_t part, enum Fill fill);

  // A later map may drop the shard before this is gone.
  const std::shared_ptr<const Shard> owner_;
  const Shard& shard_;
  mutable std::mutex mutex_;
  std::array<Part, kMaxParts> parts_;  // guarded by mutex_
  bool asked_ = false;                 // guarded by mutex_
  bool closed_ = false;                // guarded by mutex_
};

}  // namespace capstan

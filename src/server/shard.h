// A shard: some rows of a variable, with the slots of their optimizer and the
// record of the updates that they have had. All three change together or not
// at all.
//
// Everything but the constants is touched in the shard's turn alone, except
// where a method says otherwise.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "optimizer/updater.h"
#include "server/applied_steps.h"
#include "server/memory_budget.h"
#include "server/signal.h"
#include "server/turn.h"
#include "server/values.h"
#include "tensor/buffer.h"
#include "variable/shard_map.h"
#include "wire/parameter.h"

namespace capstan {

// An update that has arrived whole and was found to be in order.
struct ShardUpdate {
  UpdateId id;
  Operation operation = Operation::kGradient;
  DType dtype = DType::kF32;
  float scale = 1;
  uint64_t based_on = 0;
  bool by_rows = false;
  std::span<const uint32_t> rows;  // if by_rows
  Bytes values;
  bool skip = false;  // not finite, and such are skipped
};

struct ShardResult {
  absl::Status status;
  Outcome outcome = Outcome::kApplied;
  uint64_t version = 0;
  // If set, nothing has happened: try again when this is.
  std::shared_ptr<Signal> wait;
};

// A dense update that is applied as its bytes arrive, into memory of its own:
// the shard changes when it is committed. Pieces may be applied outside of the
// turn, by one thread at a time.
struct StreamedUpdate {
  UpdateId id;
  uint64_t staleness = 0;
  bool staleness_known = false;
  UpdateStep step;
  std::shared_ptr<const Updater> updater;
  // What it starts from, and what it makes.
  std::shared_ptr<const Values> old_values;
  std::array<std::shared_ptr<const Values>, kMaxSlots> old_slots;
  std::shared_ptr<Values> values;
  std::array<std::shared_ptr<Values>, kMaxSlots> slots;
};

class Shard {
 public:
  // The shard `index` of `entry`, in memory taken from `budget`. The values
  // are yet to be filled. ResourceExhausted, naming the variable and the
  // bytes, if there is not enough.
  static absl::StatusOr<std::shared_ptr<Shard>> Create(
      const VariableEntry& entry, uint32_t index,
      std::shared_ptr<MemoryBudget> budget);

  // Constants; from any thread.
  Turn& turn() { return turn_; }
  const VariableSpec& spec() const { return spec_; }
  ShardKey key() const { return key_; }
  int64_t first_row() const { return place_.begin; }
  size_t rows() const { return rows_; }
  size_t row_elements() const { return row_elements_; }
  size_t elements() const { return rows_ * row_elements_; }
  size_t value_bytes() const { return elements() * SizeOf(spec_.dtype); }
  size_t row_bytes() const { return row_elements_ * SizeOf(spec_.dtype); }
  bool takes_gradients() const { return spec_.optimizer.has_value(); }
  // "variable 'w', shard 1", for messages.
  std::string Name() const;

  // Before it is served: fills rows [begin, end) with their initial values and
  // slots.
  absl::Status Fill(size_t begin, size_t end);

  // Before it is served: it has no part in rounds up to `committed`.
  void JoinRounds(uint64_t committed) { committed_round_ = committed; }

  // From the next update on. `updater` is of the rule and slots of the one that
  // there is.
  void SetUpdater(std::shared_ptr<const Updater> updater) {
    updater_ = std::move(updater);
  }

  // Gives back the memory that is kept for later versions.
  void FreeSpares() {
    spare_values_ = nullptr;
    spare_slots_ = {};
  }

  // Not to be used any more: gives the memory back. Waiters are woken.
  void Drop();
  // Aborted if it was dropped: the caller's shard map is old.
  // FailedPrecondition if it has no values yet.
  absl::Status CheckReadable() const;

  uint64_t version() const { return version_; }
  // The values as they are now.
  Lease Pull() const { return Lease(values_); }
  // Copies rows, which must be in range, to `out`.
  void Gather(std::span<const uint32_t> rows, std::byte* out) const;
  // Slot `slot`, from 1 on, as f32.
  Bytes Slot(size_t slot) const { return slots_[slot - 1]->memory.bytes(); }
  size_t num_slots() const { return num_slots_; }

  // Applies `update`, unless it was before. Steps up to `watermark` were.
  ShardResult Apply(const ShardUpdate& update, uint64_t watermark,
                     const Executor& home);

  // Begins to apply a gradient as it arrives. Null with an OK status if it must
  // arrive whole instead: another one is under way, or there is not enough
  // memory; or with kAlreadyApplied.
  std::unique_ptr<StreamedUpdate> BeginStream(const UpdateId& id, float scale,
                                              uint64_t based_on,
                                              uint64_t watermark,
                                              ShardResult& result);
  // Outside of the turn: elements from `offset` on.
  void StreamPiece(const StreamedUpdate& stream, size_t offset, DType dtype,
                   Bytes gradient) const;
  ShardResult CommitStream(StreamedUpdate& stream, bool skip,
                            uint64_t watermark);
  void AbortStream();

  // Applies what `replicas`, at least one, have contributed to `round` as one
  // update; what is of earlier rounds is dropped. Does
  // nothing if that is done, and for a variable that is not synchronous.
  absl::Status CommitRound(uint64_t round, std::span<const uint32_t> replicas,
                           uint64_t watermark);

  void CountRefused() { ++report_.refused; }
  VariableReport Report() const;

 private:
  // A gradient that waits for its round.
  struct Contribution {
    uint64_t step = 0;
    DType dtype = DType::kF32;
    float scale = 1;
    bool by_rows = false;
    std::vector<uint32_t> rows;
    Buffer values;
    BudgetShare share;
  };
  // By replica and push: the order in which they are added up.
  using Contributions = std::map<std::pair<uint32_t, uint32_t>, Contribution>;

  Shard(const VariableEntry& entry, uint32_t index,
        std::shared_ptr<MemoryBudget> budget);

  absl::StatusOr<std::shared_ptr<Values>> Allocate(uint64_t bytes,
                                                   enum Fill fill);
  // Memory for a new version, as large as `like`.
  absl::StatusOr<std::shared_ptr<Values>> NewVersion(
      std::shared_ptr<Values>& spare, uint64_t bytes);
  // Makes the values such that they may be written in place.
  absl::Status MakeWritable();

  absl::Status ApplyGradient(const ShardUpdate& update, uint64_t staleness);
  absl::Status ApplyDense(DType dtype, Bytes gradient, double scale,
                          uint64_t staleness);
  absl::Status ApplyRows(const RowsUpdate& update, double scale,
                         uint64_t staleness);
  absl::Status ApplyElements(const ShardUpdate& update);
  bool HasDuplicates(std::span<const uint32_t> rows);
  ShardResult Stage(const ShardUpdate& update);
  absl::Status ApplyContributions(const Contributions& contributions,
                                  double scale);
  // What is common to all updates that were applied.
  ShardResult Applied(const UpdateId& id, uint64_t watermark);
  void CountStaleness(uint64_t staleness);
  ShardResult Answer(Outcome outcome) const;
  ShardResult Refuse(absl::Status status) const;

  const ShardKey key_;
  const VariableSpec spec_;
  const ShardPlace place_;
  const size_t rows_;
  const size_t row_elements_;
  const std::shared_ptr<MemoryBudget> budget_;
  size_t num_slots_ = 0;
  Turn turn_;

  // In the turn.
  std::shared_ptr<const Updater> updater_;
  std::shared_ptr<Values> values_;
  std::array<std::shared_ptr<Values>, kMaxSlots> slots_;
  // The memory of an earlier version, for a later one.
  std::shared_ptr<Values> spare_values_;
  std::array<std::shared_ptr<Values>, kMaxSlots> spare_slots_;
  OptimizerState state_;
  uint64_t version_ = 0;  // 0: has no values
  bool dropped_ = false;
  AppliedSteps applied_;
  bool streaming_ = false;
  std::vector<std::shared_ptr<Signal>> waiting_;  // for the stream to end
  std::map<uint64_t, Contributions> staged_;      // by round
  uint64_t committed_round_ = 0;
  std::vector<uint64_t> seen_;  // a bit for each row; all 0 between uses
  VariableReport report_;
};

}  // namespace capstan

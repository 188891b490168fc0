// A shard: some rows of a variable, with the slots of their optimizer and the
// record of the updates that were applied. All three change together or not at
// all.
//
// Everything except the constants may be used only in the shard's turn, unless
// a method says otherwise.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "optimizer/updater.h"
#include "server/shard/applied_steps.h"
#include "server/shard/memory_budget.h"
#include "server/shard/signal.h"
#include "server/shard/turn.h"
#include "server/shard/values.h"
#include "tensor/buffer.h"
#include "variable/shard_map.h"
#include "wire/parameter.h"
#include "wire/snapshot.h"

namespace capstan {

// An update that has arrived whole and was found to be valid.
struct ShardUpdate {
  UpdateId id;
  Operation operation = Operation::kGradient;
  DType dtype = DType::kF32;
  float scale = 1;
  uint64_t based_on = 0;
  bool by_rows = false;
  std::span<const uint32_t> rows;  // if by_rows
  Bytes values;
  bool skip = false;  // skipped because it is not finite
  // Does not wait for an update that is still arriving, but interrupts it; that
  // one must be sent again.
  bool urgent = false;
};

struct ShardResult {
  absl::Status status;
  Outcome outcome = Outcome::kApplied;
  uint64_t version = 0;
  // If set, nothing has happened: try again when the signal is set.
  std::shared_ptr<Signal> wait;
  // If true, nothing has happened: call CopyLeased and try again.
  bool copy_first = false;
};

// A dense update that is applied to separate memory as its bytes arrive; the
// shard changes when the update is committed. Pieces may be applied outside the
// turn, by one thread at a time, with the mutex held.
struct StreamedUpdate {
  std::mutex mutex;
  // Another update has taken its place and its memory. Guarded by the mutex.
  bool interrupted = false;

  UpdateId id;
  uint64_t staleness = 0;
  bool staleness_known = false;
  UpdateStep step;
  std::shared_ptr<const Updater> updater;
  // What it starts from, and what it produces.
  std::shared_ptr<const Values> old_values;
  std::array<std::shared_ptr<const Values>, kMaxSlots> old_slots;
  std::shared_ptr<Values> values;
  std::array<std::shared_ptr<Values>, kMaxSlots> slots;
};

// What a snapshot keeps of a shard: its parts as they were.
struct ShardHold {
  SnapshotShard info;
  std::vector<Lease> parts;
};

// The parts of a shard in memory: its values, then its slots.
inline constexpr size_t kMaxParts = 1 + kMaxSlots;

// Copies of leased parts while they are being made.
struct PartCopies {
  std::array<std::optional<Lease>, kMaxParts> from;
  std::array<std::shared_ptr<Values>, kMaxParts> to;  // null: not copied
};

class Shard : public std::enable_shared_from_this<Shard> {
 public:
  // Shard `index` of `entry`, in memory from `budget`, with values that are not
  // filled yet. ResourceExhausted, naming the variable and the bytes, if there
  // is not enough.
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
  size_t num_slots() const { return slot_infos_.size(); }
  // Part 0 is the values; part i is slot i.
  size_t num_parts() const { return 1 + num_slots(); }
  DType part_dtype(size_t part) const {
    return part == 0 ? spec_.dtype : DType::kF32;
  }
  size_t part_row_bytes(size_t part) const {
    return row_elements_ * SizeOf(part_dtype(part));
  }
  size_t part_bytes(size_t part) const { return rows_ * part_row_bytes(part); }
  // Of slot `slot`; the first is 1.
  const SlotInfo& slot_info(size_t slot) const { return slot_infos_[slot - 1]; }
  // "variable 'w', shard 1", for messages.
  std::string Name() const;

  // Memory of the size of a part, from the budget of the shard; from any
  // thread. Errors as of Create.
  absl::StatusOr<std::shared_ptr<Values>> AllocatePart(size_t part,
                                                       enum Fill fill) const;

  // Before the shard is served: fills rows [begin, end) with their initial
  // values and slots.
  absl::Status Fill(size_t begin, size_t end);

  // Before the shard is served: it takes no part in rounds up to `committed`.
  void JoinRounds(uint64_t committed) { committed_round_ = committed; }

  // Takes effect with the next update. `updater` has the same rule and slots as
  // the current one.
  void SetUpdater(std::shared_ptr<const Updater> updater) {
    updater_ = std::move(updater);
  }

  // Memory of earlier versions that a restore may use, by part: none while a
  // snapshot may need it.
  std::array<std::shared_ptr<Values>, kMaxParts> TakeSpares();
  // Frees the memory that is kept for later versions.
  void FreeSpares() {
    spare_values_ = nullptr;
    spare_slots_ = {};
  }

  // Frees the memory of the record of updates up to `watermark`.
  void Forget(uint64_t watermark) { applied_.Forget(watermark); }

  // The shard is not used any more: frees its memory and wakes waiters.
  void Drop();
  bool dropped() const { return dropped_; }
  // Aborted if the shard was dropped: the caller's shard map is old.
  // FailedPrecondition if it has no values yet.
  absl::Status CheckReadable() const;

  uint64_t version() const { return version_; }
  // The current values.
  Lease Pull() const { return Lease(values_); }
  // Copies rows, which must be in range, to `out`.
  void Gather(std::span<const uint32_t> rows, std::byte* out) const;
  // Slot `slot`, as f32; the first is 1.
  Bytes Slot(size_t slot) const { return slots_[slot - 1]->memory.bytes(); }
  // The highest step with an update that was applied or staged here.
  uint64_t last_step() const { return last_step_; }

  // Applies `update` unless that was done before. Steps up to `watermark` were.
  ShardResult Apply(const ShardUpdate& update, uint64_t watermark,
                    const Executor& home);

  // Begins to apply a gradient as it arrives. Null with an OK status if the
  // gradient must arrive whole instead (another one is under way, this one was
  // interrupted before, or there is not enough memory), or with
  // kAlreadyApplied.
  std::shared_ptr<StreamedUpdate> BeginStream(const UpdateId& id, float scale,
                                              uint64_t based_on,
                                              uint64_t watermark,
                                              ShardResult& result);
  // Outside the turn: applies the elements from `offset` on. Unavailable if the
  // stream was interrupted.
  absl::Status StreamPiece(StreamedUpdate& stream, size_t offset, DType dtype,
                           Bytes gradient) const;
  // Unavailable if the stream was interrupted.
  ShardResult CommitStream(StreamedUpdate& stream, bool skip,
                           uint64_t watermark);
  // The stream is not going to be committed.
  void AbortStream(const StreamedUpdate& stream);
  // When `id` is sent again it must arrive whole, so that it is not interrupted
  // a second time.
  void ExpectWhole(const UpdateId& id, uint64_t watermark);

  // Applies the contributions of `replicas`, at least one, to `round` as one
  // update; drops contributions to earlier rounds. Does nothing if the round
  // was committed before or the variable is not synchronous.
  absl::Status CommitRound(uint64_t round, std::span<const uint32_t> replicas,
                           uint64_t watermark);

  // A leased part must be copied before an update changes it in place. A large
  // copy would keep the thread from its other work, so such an update, unless
  // it is part of a round, is told to make the copy outside the turn first:
  // CopyLeased in copy_leased.h. RoundNeedsLargeCopy: whether committing
  // `round` needs such a copy, too.
  bool RoundNeedsLargeCopy(uint64_t round) const;
  // Begins the copy: updates wait until EndCopy. Null if nothing large is to be
  // copied, or if an update or another copy is under way. Errors as of Create.
  absl::StatusOr<std::unique_ptr<PartCopies>> BeginCopy();
  // Everything is copied. Parts that were replaced in the meantime stay
  // replaced.
  void EndCopy(PartCopies& copies);

  // Keeps the current contents, which must be readable, in `hold`: later
  // updates write elsewhere. Sets memory aside for those updates; false if
  // there is not enough. One at a time, until EndSnapshot.
  bool BeginSnapshot(ShardHold& hold);
  // Gives back the memory that was set aside.
  void ReleaseReserves() { reserves_ = {}; }
  // `hold` is about to be destroyed: gives back what was set aside for it. The
  // memory that was allocated beside it is kept for later versions if enough is
  // left.
  void EndSnapshot(const ShardHold& hold);

  // Replaces the contents by `parts`, one for each part, and `state`. Drops
  // contributions that are waiting for their round.
  void Restore(std::span<std::shared_ptr<Values>> parts,
               const OptimizerState& state);

  void CountRefused() { ++report_.refused; }
  VariableReport Report() const;

 private:
  // A gradient that is waiting for its round.
  struct Contribution {
    uint64_t step = 0;
    DType dtype = DType::kF32;
    float scale = 1;
    bool by_rows = false;
    std::vector<uint32_t> rows;
    Buffer values;
    BudgetShare share;
  };
  // By replica and push, which is the order of summation.
  using Contributions = std::map<std::pair<uint32_t, uint32_t>, Contribution>;

  Shard(const VariableEntry& entry, uint32_t index,
        std::shared_ptr<MemoryBudget> budget);

  std::shared_ptr<Values>& Part(size_t part) {
    return part == 0 ? values_ : slots_[part - 1];
  }
  const std::shared_ptr<Values>& Part(size_t part) const {
    return part == 0 ? values_ : slots_[part - 1];
  }
  std::shared_ptr<Values>& Spare(size_t part) {
    return part == 0 ? spare_values_ : spare_slots_[part - 1];
  }
  bool HasSpare(size_t part) {
    return Spare(part) != nullptr && !Spare(part)->leased();
  }
  absl::StatusOr<std::shared_ptr<Values>> AllocateIn(BudgetShare share,
                                                     size_t part,
                                                     enum Fill fill) const;
  // Memory for a new version of a part.
  absl::StatusOr<std::shared_ptr<Values>> NewVersion(size_t part);
  // Makes the old version the spare of `version`.
  void Replace(size_t part, std::shared_ptr<Values> version) {
    Spare(part) = std::exchange(Part(part), std::move(version));
  }
  // Frees the spare unless it is worth keeping for a later version. Large
  // memory is slow to allocate: the kernel clears it, and a virtual machine may
  // have to get it from its host. But enough must be left for everything else.
  void KeepSpareIfWorth(size_t part) {
    const bool worth = part_bytes(part) >= Buffer::kLarge &&
                       budget_->used() <= budget_->limit() / 4 * 3;
    if (!worth) Spare(part) = nullptr;
  }
  // Makes the first `parts` parts writable in place.
  absl::Status MakeWritable(size_t parts);
  bool NeedsLargeCopy() const;
  void WakeWaiting();
  // Ends the current stream and wakes those that wait for it.
  void EndStream();
  // The same before the update has arrived. The shard gets its memory back.
  void InterruptStream();
  // Whether a stream has memory without making a third version beside a
  // snapshot.
  bool HasRoomToStream();

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
  // Records an update, so that it is not applied again.
  void Record(uint64_t step, uint32_t push, uint64_t watermark);
  // What all updates that were applied have in common.
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
  std::vector<SlotInfo> slot_infos_;
  Turn turn_;

  // In the turn.
  std::shared_ptr<const Updater> updater_;
  std::shared_ptr<Values> values_;
  std::array<std::shared_ptr<Values>, kMaxSlots> slots_;
  // The memory of an earlier version, for a later one.
  std::shared_ptr<Values> spare_values_;
  std::array<std::shared_ptr<Values>, kMaxSlots> spare_slots_;
  // Memory set aside, by part, for the first update after a snapshot.
  std::array<std::optional<BudgetShare>, kMaxParts> reserves_;
  bool in_snapshot_ = false;
  OptimizerState state_;
  uint64_t version_ = 0;  // 0: no values
  bool dropped_ = false;
  AppliedSteps applied_;
  uint64_t last_step_ = 0;
  std::shared_ptr<StreamedUpdate> stream_;  // null: none
  // By step and push: updates that were interrupted and have not come again.
  std::set<std::pair<uint64_t, uint32_t>> expected_whole_;
  bool copying_ = false;
  std::vector<std::shared_ptr<Signal>> waiting_;  // until stream or copy ends
  std::map<uint64_t, Contributions> staged_;      // by round
  uint64_t committed_round_ = 0;
  std::vector<uint64_t> seen_;  // a bit for each row; all 0 between uses
  VariableReport report_;
};

}  // namespace capstan

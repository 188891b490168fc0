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
  // Does not wait for one that is still arriving, but has it sent again.
  bool urgent = false;
};

struct ShardResult {
  absl::Status status;
  Outcome outcome = Outcome::kApplied;
  uint64_t version = 0;
  // If set, nothing has happened: try again when this is.
  std::shared_ptr<Signal> wait;
  // If true, nothing has happened: CopyLeased, and try again.
  bool copy_first = false;
};

// A dense update that is applied as its bytes arrive, into memory of its own:
// the shard changes when it is committed. Pieces may be applied outside of the
// turn, by one thread at a time, with the mutex.
struct StreamedUpdate {
  std::mutex mutex;
  // Another update has taken its place, and its memory. Guarded by the mutex.
  bool interrupted = false;

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

// What a snapshot keeps of a shard: its parts as they were.
struct ShardHold {
  SnapshotShard info;
  std::vector<Lease> parts;
};

// The parts of a shard in memory: its values, then its slots.
inline constexpr size_t kMaxParts = 1 + kMaxSlots;

// Copies of parts that are leased, while they are made.
struct PartCopies {
  std::array<std::optional<Lease>, kMaxParts> from;
  std::array<std::shared_ptr<Values>, kMaxParts> to;  // null: of none
};

class Shard : public std::enable_shared_from_this<Shard> {
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
  size_t num_slots() const { return slot_infos_.size(); }
  // Part 0 is the values, i the i-th slot.
  size_t num_parts() const { return 1 + num_slots(); }
  DType part_dtype(size_t part) const {
    return part == 0 ? spec_.dtype : DType::kF32;
  }
  size_t part_row_bytes(size_t part) const {
    return row_elements_ * SizeOf(part_dtype(part));
  }
  size_t part_bytes(size_t part) const { return rows_ * part_row_bytes(part); }
  // Of slot `slot`, from 1 on.
  const SlotInfo& slot_info(size_t slot) const { return slot_infos_[slot - 1]; }
  // "variable 'w', shard 1", for messages.
  std::string Name() const;

  // Memory as large as a part, from the budget of the shard; from any thread.
  // Errors as of Create.
  absl::StatusOr<std::shared_ptr<Values>> AllocatePart(size_t part,
                                                       enum Fill fill) const;

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

  // What is to spare of the memory of earlier versions, by part, for what is
  // to be restored: none while a snapshot may need it.
  std::array<std::shared_ptr<Values>, kMaxParts> TakeSpares();
  // Gives back the memory that is kept for later versions.
  void FreeSpares() {
    spare_values_ = nullptr;
    spare_slots_ = {};
  }

  // Gives back the memory of the record of updates up to `watermark`.
  void Forget(uint64_t watermark) { applied_.Forget(watermark); }

  // Not to be used any more: gives the memory back. Waiters are woken.
  void Drop();
  bool dropped() const { return dropped_; }
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
  // The highest step of which it has an update, applied or staged.
  uint64_t last_step() const { return last_step_; }

  // Applies `update`, unless it was before. Steps up to `watermark` were.
  ShardResult Apply(const ShardUpdate& update, uint64_t watermark,
                    const Executor& home);

  // Begins to apply a gradient as it arrives. Null with an OK status if it must
  // arrive whole instead: another one is under way, it was interrupted before,
  // or there is not enough memory; or with kAlreadyApplied.
  std::shared_ptr<StreamedUpdate> BeginStream(const UpdateId& id, float scale,
                                              uint64_t based_on,
                                              uint64_t watermark,
                                              ShardResult& result);
  // Outside of the turn: elements from `offset` on. Unavailable if it was
  // interrupted.
  absl::Status StreamPiece(StreamedUpdate& stream, size_t offset, DType dtype,
                           Bytes gradient) const;
  // Unavailable if it was interrupted.
  ShardResult CommitStream(StreamedUpdate& stream, bool skip,
                           uint64_t watermark);
  // It will not be committed.
  void AbortStream(const StreamedUpdate& stream);
  // When `id` comes again it must arrive whole: it has lost time enough.
  void ExpectWhole(const UpdateId& id, uint64_t watermark);

  // Applies what `replicas`, at least one, have contributed to `round` as one
  // update; what is of earlier rounds is dropped. Does
  // nothing if that is done, and for a variable that is not synchronous.
  absl::Status CommitRound(uint64_t round, std::span<const uint32_t> replicas,
                           uint64_t watermark);

  // What an update changes in place has to be copied first if it is leased. A
  // large copy would keep the thread from its other work, so that such an
  // update, other than in a round, is sent to make it outside of the turn:
  // CopyLeased in copy_leased.h. Whether that goes for `round`, too:
  bool RoundNeedsLargeCopy(uint64_t round) const;
  // Begins it: updates wait until EndCopy. Null if there is nothing large to be
  // copied, or an update is under way, and so is another copy. Errors as of
  // Create.
  absl::StatusOr<std::unique_ptr<PartCopies>> BeginCopy();
  // All is copied. What was replaced meanwhile stays replaced.
  void EndCopy(PartCopies& copies);

  // Keeps what it holds now, which must be readable, in `hold`: later updates
  // write elsewhere. False if there is no memory for that, which is otherwise
  // set aside until they come. One at a time, until EndSnapshot.
  bool BeginSnapshot(ShardHold& hold);
  // Gives back what was set aside.
  void ReleaseReserves() { reserves_ = {}; }
  // `hold` will be gone soon: gives back what was set aside for it. Memory that
  // was made beside it stays for the next one, if there is enough.
  void EndSnapshot(const ShardHold& hold);

  // Takes `parts`, one for each, and `state` over, in place of what there is.
  // Contributions that wait for their round are dropped.
  void Restore(std::span<std::shared_ptr<Values>> parts,
               const OptimizerState& state);

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
  // The version that there is becomes the spare of `version`.
  void Replace(size_t part, std::shared_ptr<Values> version) {
    Spare(part) = std::exchange(Part(part), std::move(version));
  }
  // Gives the spare back unless it is worth keeping for a later version. Much
  // memory is slow to get anew: the kernel clears it, and that of a virtual
  // machine may have to get it from its host. Yet enough must be left for all
  // else that comes.
  void KeepSpareIfWorth(size_t part) {
    const bool worth = part_bytes(part) >= Buffer::kLarge &&
                       budget_->used() <= budget_->limit() / 4 * 3;
    if (!worth) Spare(part) = nullptr;
  }
  // Makes the first `parts` parts such that they may be written in place.
  absl::Status MakeWritable(size_t parts);
  bool NeedsLargeCopy() const;
  void WakeWaiting();
  // The stream that there is ends, and whoever waits for it is woken.
  void EndStream();
  // The same before it has arrived. What it was given goes back to the shard.
  void InterruptStream();
  // Whether a stream finds memory without a third version beside a snapshot.
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
  // Remembers an update, so that it is not applied again.
  void Record(uint64_t step, uint32_t push, uint64_t watermark);
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
  std::vector<SlotInfo> slot_infos_;
  Turn turn_;

  // In the turn.
  std::shared_ptr<const Updater> updater_;
  std::shared_ptr<Values> values_;
  std::array<std::shared_ptr<Values>, kMaxSlots> slots_;
  // The memory of an earlier version, for a later one.
  std::shared_ptr<Values> spare_values_;
  std::array<std::shared_ptr<Values>, kMaxSlots> spare_slots_;
  // For the first update after a snapshot: memory that is set aside, by part.
  std::array<std::optional<BudgetShare>, kMaxParts> reserves_;
  bool in_snapshot_ = false;
  OptimizerState state_;
  uint64_t version_ = 0;  // 0: has no values
  bool dropped_ = false;
  AppliedSteps applied_;
  uint64_t last_step_ = 0;
  std::shared_ptr<StreamedUpdate> stream_;  // null: none is under way
  // By step and push: those that were interrupted and have not come again.
  std::set<std::pair<uint64_t, uint32_t>> expected_whole_;
  bool copying_ = false;
  std::vector<std::shared_ptr<Signal>> waiting_;  // for either to end
  std::map<uint64_t, Contributions> staged_;      // by round
  uint64_t committed_round_ = 0;
  std::vector<uint64_t> seen_;  // a bit for each row; all 0 between uses
  VariableReport report_;
};

}  // namespace capstan

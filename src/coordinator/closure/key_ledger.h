// The keys that a program gives its steps: which step a key stands for, and
// which keys are complete. A program that is started again asks the latter, and
// what is not complete runs again as the same step.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/closure/step_ledger.h"

namespace capstan {

// What the job's record, and every checkpoint, says of the keys. A value.
struct CompleteKeys {
  uint64_t below = 0;  // all of these are
  // And these ranges, [first, last], ascending.
  std::vector<std::pair<uint64_t, uint64_t>> above = {};
  // A coordinator was replacing the values of all variables by those of a
  // checkpoint: which keys they have is not known until that is done again.
  bool restoring = false;
  friend bool operator==(const CompleteKeys&, const CompleteKeys&) = default;
};

// Its part of the record. Blocks of steps are under this and the first key.
inline constexpr char kStepKeysPart[] = "capstan/steps";
std::string EncodeCompleteKeys(const CompleteKeys& keys);
// DataLoss if it is none.
absl::StatusOr<CompleteKeys> DecodeCompleteKeys(std::string_view text);

// Not thread-safe.
class KeyLedger {
 public:
  // A key must be less than this above the first that is not complete: the
  // servers remember all updates from the step of that one on.
  static constexpr uint64_t kWindow = 8192;
  // So many steps are numbered at a time.
  static constexpr uint64_t kChunk = 256;

  enum class State : uint8_t {
    kComplete,
    kScheduled,
    kFree,        // to be scheduled
    kUnnumbered,  // the same, once the servers know which step it stands for
    kTooFar,
  };
  State Look(uint64_t key) const;
  uint64_t first_incomplete() const { return below_; }
  bool restoring() const { return restoring_; }
  // Whether any was ever used.
  bool used() const { return below_ > 0 || !keys_.empty() || restoring_; }
  size_t num_scheduled() const { return scheduled_; }
  // The last that a key stands for.
  uint64_t last_step() const {
    return chunks_.empty() ? 0 : chunks_.back().block.end() - 1;
  }

  // How many steps to reserve so that `key`, which is kUnnumbered, has one: 0
  // if it has, and the servers do not know it yet.
  uint64_t Missing(uint64_t key) const;
  // The next keys stand for these steps. Returns those of keys that are
  // complete, which are over.
  std::vector<uint64_t> Number(const StepBlock& block);
  // Servers that have what `version` was are told of all steps up to it.
  uint64_t version() const { return version_; }
  void Published(uint64_t version);

  // Of a key that is kFree: its step. It is kScheduled then.
  uint64_t Schedule(uint64_t key);
  // A function has begun to run as its step, and may have changed variables.
  void Begin(uint64_t key);
  bool begun(uint64_t key) const;
  // It has ended: well, or it is kFree again.
  void End(uint64_t key, bool complete);
  // One that is not scheduled counts as complete. Returns its step; 0: none.
  uint64_t Skip(uint64_t key);
  // The first key that is not complete, was begun and is not scheduled: the
  // variables may have a part of it. kNone: there is none.
  static constexpr uint64_t kNone = UINT64_MAX;
  uint64_t FirstPartial() const;

  // Takes the numbers of the last keys back that were never scheduled, if none
  // is now, so that they do not hold the watermark. Returns their steps.
  std::vector<uint64_t> GiveUpNumbers();

  // For the record: the complete keys; and by the name of each block of steps
  // that is not over, the block, and the step up to which it is.
  CompleteKeys complete() const;
  struct OpenBlock {
    StepBlock block;
    uint64_t over = 0;
    friend bool operator==(const OpenBlock&, const OpenBlock&) = default;
  };
  std::map<std::string, OpenBlock> open_blocks() const;

  // Goes on with what another coordinator has left: the blocks of its record,
  // of whose steps those up to `last` may have begun. Returns the steps that
  // are over. DataLoss if that makes no sense.
  absl::StatusOr<std::vector<uint64_t>> Load(
      const CompleteKeys& keys, const std::map<std::string, StepBlock>& blocks,
      uint64_t last);
  // The variables have, or are about to have, values of another time, when
  // `keys` were complete: all others run as new steps. Returns the steps that
  // are over with that. None may be scheduled.
  std::vector<uint64_t> Reset(const CompleteKeys& keys);

 private:
  struct Key {
    uint64_t step = 0;  // 0: none yet
    bool complete = false;
    bool scheduled = false;
    bool begun = false;
  };
  struct Chunk {
    uint64_t first_key = 0;
    StepBlock block;
    uint64_t version = 0;  // with which the servers are told of it
    uint64_t end_key() const { return first_key + block.count; }
  };

  Key& At(uint64_t key) { return keys_[key - below_]; }
  const Key* Find(uint64_t key) const;
  // Makes room up to `key`.
  Key& Make(uint64_t key);
  void SetComplete(const CompleteKeys& keys);
  void Advance();

  uint64_t below_ = 0;        // all keys below it are complete
  std::deque<Key> keys_;      // from it on
  uint64_t numbered_ = 0;     // keys below it have numbers
  std::deque<Chunk> chunks_;  // that are not over
  size_t scheduled_ = 0;
  bool restoring_ = false;
  uint64_t version_ = 0;    // counts changes
  uint64_t published_ = 0;  // the one that the servers have
};

}  // namespace capstan

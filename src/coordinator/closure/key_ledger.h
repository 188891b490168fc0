// The keys that a program gives its steps: which step a key stands for, and
// which keys are complete. A restarted program asks which keys are complete and
// runs the others again as the same steps.
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

// What the job's record and every checkpoint say about keys. A value.
struct CompleteKeys {
  uint64_t below = 0;  // all keys below it are complete
  // And these ranges, [first, last], ascending.
  std::vector<std::pair<uint64_t, uint64_t>> above = {};
  // A coordinator was replacing the values of all variables by those of a
  // checkpoint: which keys they contain is unknown until the restore is done
  // again.
  bool restoring = false;
  friend bool operator==(const CompleteKeys&, const CompleteKeys&) = default;
};

// The name of its part of the record. Blocks of steps are stored under this
// name and their first key.
inline constexpr char kStepKeysPart[] = "capstan/steps";
std::string EncodeCompleteKeys(const CompleteKeys& keys);
// DataLoss if `text` is malformed.
absl::StatusOr<CompleteKeys> DecodeCompleteKeys(std::string_view text);

// Not thread-safe.
class KeyLedger {
 public:
  // A key must be less than this above the first incomplete key: the servers
  // remember all updates from the step of that key on.
  static constexpr uint64_t kWindow = 8192;
  // How many steps are numbered at a time.
  static constexpr uint64_t kChunk = 256;

  enum class State : uint8_t {
    kComplete,
    kScheduled,
    kFree,        // may be scheduled
    kUnnumbered,  // may be scheduled once the servers know its step
    kTooFar,
  };
  State Look(uint64_t key) const;
  uint64_t first_incomplete() const { return below_; }
  bool restoring() const { return restoring_; }
  // Whether any key was ever used.
  bool used() const { return below_ > 0 || !keys_.empty() || restoring_; }
  size_t num_scheduled() const { return scheduled_; }
  // The last step that has a key.
  uint64_t last_step() const {
    return chunks_.empty() ? 0 : chunks_.back().block.end() - 1;
  }

  // How many steps to reserve so that `key`, which is kUnnumbered, has one: 0
  // if it has one that the servers do not know yet.
  uint64_t Missing(uint64_t key) const;
  // Assigns these steps to the next keys. Returns the steps of keys that are
  // already complete; those steps have ended.
  std::vector<uint64_t> Number(const StepBlock& block);
  // Servers that have the record of this version know all steps that were
  // numbered before it.
  uint64_t version() const { return version_; }
  void Published(uint64_t version);

  // Schedules a key that is kFree, which becomes kScheduled. Returns its step.
  uint64_t Schedule(uint64_t key);
  // A function has begun to run as this step and may have changed variables.
  void Begin(uint64_t key);
  bool begun(uint64_t key) const;
  // The step has ended: successfully, or else the key is kFree again.
  void End(uint64_t key, bool complete);
  // Counts a key that is not scheduled as complete. Returns its step; 0: none.
  uint64_t Skip(uint64_t key);
  // The first key that was begun and is neither complete nor scheduled: the
  // variables may have part of it. kNone if there is none.
  static constexpr uint64_t kNone = UINT64_MAX;
  uint64_t FirstPartial() const;

  // If no key is scheduled, gives up the steps of the last keys that never
  // were, so that they do not hold back the watermark. Returns those steps.
  std::vector<uint64_t> GiveUpNumbers();

  // For the record: the complete keys; and, by name, each block of steps that
  // has not ended, with the step up to which it has.
  CompleteKeys complete() const;
  struct OpenBlock {
    StepBlock block;
    uint64_t over = 0;
    friend bool operator==(const OpenBlock&, const OpenBlock&) = default;
  };
  std::map<std::string, OpenBlock> open_blocks() const;

  // Continues from the record of another coordinator: `blocks` are its blocks,
  // of which the steps up to `last` may have begun. Returns the steps that have
  // ended. DataLoss if the record is inconsistent.
  absl::StatusOr<std::vector<uint64_t>> Load(
      const CompleteKeys& keys, const std::map<std::string, StepBlock>& blocks,
      uint64_t last);
  // The variables have, or are about to have, values of another time, at which
  // `keys` were complete: all other keys run as new steps. Returns the steps
  // that end with that. No key may be scheduled.
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
    uint64_t version = 0;  // the version that tells the servers of it
    uint64_t end_key() const { return first_key + block.count; }
  };

  Key& At(uint64_t key) { return keys_[key - below_]; }
  const Key* Find(uint64_t key) const;
  // Makes room up to `key`.
  Key& Make(uint64_t key);
  void SetComplete(const CompleteKeys& keys);
  void Advance();

  uint64_t below_ = 0;        // all keys below it are complete
  std::deque<Key> keys_;      // from below_ on
  uint64_t numbered_ = 0;     // keys below it have numbers
  std::deque<Chunk> chunks_;  // those with steps that have not ended
  size_t scheduled_ = 0;
  bool restoring_ = false;
  uint64_t version_ = 0;    // counts changes
  uint64_t published_ = 0;  // the version that the servers have
};

}  // namespace capstan

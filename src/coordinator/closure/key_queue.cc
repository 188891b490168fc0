// The part of the queue that handles the keys of steps.
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "coordinator/closure/closure_queue.h"
#include "coordinator/closure/queue_notices.h"

namespace capstan {
namespace {

std::string Named(uint64_t key) { return absl::StrCat("step key ", key); }

absl::Status NotRestored() {
  return absl::FailedPreconditionError(
      "it is not known which step keys are complete: restoring a checkpoint "
      "was interrupted; call CheckpointManager::Restore again");
}

absl::Status NoneScheduled(const KeyLedger& keys) {
  if (keys.num_scheduled() == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("steps with keys are scheduled or running (",
                   keys.num_scheduled(), "): Join first"));
}

}  // namespace

absl::StatusOr<bool> ClosureQueue::CheckKey(const Closure& closure) const {
  if (!closure.key) return true;
  if (keys_.restoring()) return NotRestored();
  if (rounds_.rules().replicas != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        Named(*closure.key),
        ": steps with keys need variables that are updated asynchronously, and "
        "this job has some with Sync or BoundedStaleness; Trainer::Fit resumes "
        "those"));
  }
  switch (keys_.Look(*closure.key)) {
    case KeyLedger::State::kFree:
      return true;
    case KeyLedger::State::kUnnumbered:
      return false;
    case KeyLedger::State::kComplete:
      return absl::AlreadyExistsError(
          absl::StrCat(Named(*closure.key),
                       " is complete already: ask IsComplete before you "
                       "schedule it"));
    case KeyLedger::State::kScheduled:
      return absl::AlreadyExistsError(
          absl::StrCat(Named(*closure.key), " is scheduled already"));
    case KeyLedger::State::kTooFar:
      break;
  }
  if (KeyWaits(closure)) return false;
  const uint64_t first = keys_.first_incomplete();
  return absl::FailedPreconditionError(
      absl::StrCat(Named(*closure.key), " is too far ahead: ", first,
                   " is not complete and not scheduled, and keys must be less "
                   "than ",
                   KeyLedger::kWindow, " above it; schedule it, or Skip it"));
}

bool ClosureQueue::KeyWaits(const Closure& closure) const {
  return closure.key && keys_.Look(*closure.key) == KeyLedger::State::kTooFar &&
         keys_.Look(keys_.first_incomplete()) == KeyLedger::State::kScheduled;
}

void ClosureQueue::EndSteps(const std::vector<uint64_t>& steps,
                            Notices& notices) {
  for (const uint64_t step : steps) ledger_.End(step);
  notices.Changed();
}

bool ClosureQueue::NumberKey(uint64_t key) {
  Notices notices(*this);
  const Lock lock(mutex_);
  if (keys_.Look(key) != KeyLedger::State::kUnnumbered) return false;
  const uint64_t missing = keys_.Missing(key);
  if (missing > 0) {
    StepBlock block;
    block.first = ledger_.Reserve(missing);
    block.count = missing;
    EndSteps(keys_.Number(block), notices);
  }
  return true;
}

absl::StatusOr<bool> ClosureQueue::IsComplete(uint64_t key) const {
  const Lock lock(mutex_);
  if (keys_.restoring()) return NotRestored();
  return keys_.Look(key) == KeyLedger::State::kComplete;
}

absl::StatusOr<uint64_t> ClosureQueue::FirstIncomplete() const {
  const Lock lock(mutex_);
  if (keys_.restoring()) return NotRestored();
  return keys_.first_incomplete();
}

absl::Status ClosureQueue::SkipKey(uint64_t key) {
  Notices notices(*this);
  const Lock lock(mutex_);
  if (keys_.restoring()) return NotRestored();
  switch (keys_.Look(key)) {
    case KeyLedger::State::kScheduled:
      return absl::FailedPreconditionError(absl::StrCat(
          Named(key),
          " is scheduled: cancel it or Join, before it is skipped"));
    case KeyLedger::State::kTooFar:
      return absl::FailedPreconditionError(absl::StrCat(
          Named(key), " is too far ahead of ", keys_.first_incomplete(),
          ", which is not complete, to be skipped"));
    case KeyLedger::State::kComplete:
      return absl::OkStatus();
    case KeyLedger::State::kFree:
    case KeyLedger::State::kUnnumbered:
      break;
  }
  ledger_.End(keys_.Skip(key));
  notices.Changed();
  return absl::OkStatus();
}

absl::Status ClosureQueue::CheckNoPartialKey() const {
  const Lock lock(mutex_);
  if (keys_.restoring()) return NotRestored();
  const uint64_t partial = keys_.FirstPartial();
  if (partial == KeyLedger::kNone) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      Named(partial),
      " was begun and is not complete, so the variables may have a "
      "part of it: schedule it again, or Skip it"));
}

absl::Status ClosureQueue::CheckNoKeyScheduled() const {
  const Lock lock(mutex_);
  return NoneScheduled(keys_);
}

std::optional<ClosureQueue::KeyRecord> ClosureQueue::NewKeyRecord(
    uint64_t version) {
  Notices notices(*this);
  const Lock lock(mutex_);
  // Other steps that have begun are waiting for the watermark.
  const bool others = ledger_.last() > keys_.last_step();
  if (others) EndSteps(keys_.GiveUpNumbers(), notices);
  if (keys_.version() == version) return std::nullopt;
  KeyRecord record;
  record.version = keys_.version();
  record.complete = keys_.complete();
  record.blocks = keys_.open_blocks();
  return record;
}

void ClosureQueue::KeysPublished(uint64_t version) {
  Notices notices(*this);
  const Lock lock(mutex_);
  keys_.Published(version);
  notices.Changed();
}

absl::Status ClosureQueue::ResetKeys(const CompleteKeys& keys) {
  Notices notices(*this);
  const Lock lock(mutex_);
  CAPSTAN_RETURN_IF_ERROR(NoneScheduled(keys_));
  EndSteps(keys_.Reset(keys), notices);
  return absl::OkStatus();
}

absl::Status ClosureQueue::LoadKeys(
    const CompleteKeys& keys, const std::map<std::string, StepBlock>& blocks,
    uint64_t last) {
  Notices notices(*this);
  const Lock lock(mutex_);
  const absl::StatusOr<std::vector<uint64_t>> over =
      keys_.Load(keys, blocks, last);
  if (!over.ok()) return over.status();
  EndSteps(*over, notices);
  return absl::OkStatus();
}

bool ClosureQueue::KeysUsed() const {
  const Lock lock(mutex_);
  return keys_.used();
}

}  // namespace capstan

// The closures that are to run, and the contract of Schedule, Join and errors.
//
// A closure is queued, in flight with a worker, or done. One whose worker was
// lost goes back to the front of the queue, whatever the bound. A closure that
// fails changes nothing for the others until Put, Join or Done is called, or
// while one of them is waiting. That call calls off everything: nothing more is
// given out, what is in flight is cancelled and waited for, and what is queued
// or was lost with its worker is cancelled. Then the first error is reported,
// once, and all is as at the beginning. Closures that fail by themselves
// meanwhile keep their own errors, and LastErrors lists them all.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/async/clock.h"
#include "coordinator/closure/closure.h"
#include "coordinator/closure/key_ledger.h"
#include "coordinator/closure/round_tracker.h"
#include "coordinator/closure/step_ledger.h"

namespace capstan {

struct ClosureQueueOptions {
  // How many may be queued; Put waits for a place. 0: no bound.
  size_t capacity = size_t{256} * 1024;
  // A closure fails once so many workers were lost with it.
  size_t poison_limit = 3;
  // A closure fails once so many workers could not reach a server with it.
  uint32_t server_limit = 3;
  // Called without the lock, from any thread. There is something to take; all
  // in flight are to be cancelled, or one of them is; something happened that
  // a Try may wait for; a callback of a closure is due. Each may be null.
  std::function<void()> on_work = nullptr;
  std::function<void()> on_cancel_all = nullptr;
  std::function<void(uint64_t step)> on_cancel = nullptr;
  std::function<void()> on_change = nullptr;
  std::function<void(std::function<void()>)> on_then = nullptr;
};

// Why a closure is given back.
enum class Return : uint8_t {
  kLost,     // its worker was lost, perhaps because of it
  kServer,   // its worker cannot reach a server
  kAway,     // the same, and nobody can
  kLeaving,  // its worker leaves the job
  kUnused,   // it was not sent
};

struct QueueCounts {
  uint64_t queued = 0;
  uint64_t in_flight = 0;
  uint64_t finished = 0;
  uint64_t failed = 0;
  uint64_t cancelled = 0;
  uint64_t lost_retries = 0;
  uint64_t server_retries = 0;
  uint64_t leaving_retries = 0;
  uint64_t poisoned = 0;
  uint64_t watermark = 0;
  uint64_t round = 0;
  absl::Status error;  // pending
};

// Thread-safe.
class ClosureQueue {
 public:
  using ClosurePtr = std::shared_ptr<Closure>;

  explicit ClosureQueue(ClosureQueueOptions options);

  // --- The program's side.

  // Queues `closure`, which gets its step if it has none. Waits while the queue
  // is full. A pending error is reported instead; the closure is then not
  // queued. It has no key.
  absl::Status Put(const ClosurePtr& closure);
  // The same without waiting: false if it would have to wait. One that has a
  // key may also have to wait because that is too far ahead, or to be numbered
  // (NumberKey). AlreadyExists if the key is complete or scheduled;
  // FailedPrecondition if it is too far ahead and nothing is scheduled that
  // would change this, if there are rounds, and if it is not known what is
  // complete.
  absl::StatusOr<bool> TryPut(const ClosurePtr& closure);
  // Waits for as long as TryPut would have to wait.
  void AwaitPlace(const Closure& closure);

  // Waits until all that was put before the call is done, or for an error,
  // which is reported. DeadlineExceeded after `timeout`, with what is left.
  absl::Status Join(Duration timeout);
  // The same without waiting, of what was put up to `last`: nullopt if not yet.
  // A round of synchronous training that is not full is committed as it is.
  std::optional<absl::Status> TryJoin(uint64_t last);
  // How many were put, or begun.
  uint64_t last_put() const;
  // The highest number that a step has.
  uint64_t last_step() const;

  // Whether nothing is queued or in flight. Never waits: while an error is
  // pending it is false until what is in flight has ended, and then reports it.
  absl::StatusOr<bool> Done();

  // All errors of the failure that was reported last.
  std::vector<absl::Status> LastErrors() const;

  // Waits until the closure is done; false after `timeout`.
  bool Wait(const Closure& closure, Duration timeout);
  bool IsDone(const Closure& closure) const;
  // Of a closure that is done: its status, and its value, which stays as it is.
  absl::Status StatusOf(const Closure& closure) const;
  // Calls `then` by on_then when the closure is done, at once if it is.
  void Then(Closure& closure, std::function<void()> then);
  // Ends it with Cancelled: at once if it is queued, else when its worker has
  // stopped. Nothing happens if it is done. No error for Join.
  void Cancel(Closure& closure);

  // A step that is no closure, such as an assignment by the coordinator.
  uint64_t BeginStep();
  void EndStep(uint64_t step);

  // As many steps that are to be put in this order, the first as the first of
  // its round.
  StepBlock Reserve(uint64_t count);
  // Those of a block from `first` on that were not put are over.
  void EndBlock(const StepBlock& block, uint64_t first);

  // --- Keys; see KeyLedger, whose methods these are.

  // Whether the servers are yet to be told which step `key` stands for, which
  // is decided here; it may then be put.
  bool NumberKey(uint64_t key);
  absl::StatusOr<bool> IsComplete(uint64_t key) const;
  absl::StatusOr<uint64_t> FirstIncomplete() const;
  // FailedPrecondition if it is scheduled or too far ahead.
  absl::Status SkipKey(uint64_t key);
  // FailedPrecondition, naming the key, if a step that has one was begun and is
  // neither complete nor scheduled: the variables may have a part of it.
  absl::Status CheckNoPartialKey() const;
  // FailedPrecondition if a step that has a key is scheduled; so is ResetKeys.
  absl::Status CheckNoKeyScheduled() const;

  // What the record is to say, if that is not `version`, as it was when this
  // was last asked. Numbers that nobody uses, while others wait for them, are
  // given up.
  struct KeyRecord {
    uint64_t version = 0;
    CompleteKeys complete;
    std::map<std::string, KeyLedger::OpenBlock> blocks;
  };
  std::optional<KeyRecord> NewKeyRecord(uint64_t version);
  void KeysPublished(uint64_t version);
  absl::Status ResetKeys(const CompleteKeys& keys);
  // After Resume.
  absl::Status LoadKeys(const CompleteKeys& keys,
                        const std::map<std::string, StepBlock>& blocks,
                        uint64_t last);
  bool KeysUsed() const;

  // Goes on where another coordinator was, before anything is put.
  struct ResumePoint {
    uint64_t watermark = 0;
    uint64_t last = 0;  // no step above it was ever begun, but those of blocks
    std::vector<StepBlock> blocks;
    RoundRules rules;
    uint64_t next_round = 1;  // to be assigned
    uint64_t settled = 0;     // the last round that is, on the servers
  };
  void Resume(const ResumePoint& point);
  // Rounds count from 1 again, as on servers that know of none. Nothing may be
  // queued or in flight.
  void RestartRounds();

  // Pauses: from now on nothing that has not begun is given out, but what a
  // synchronous round needs that has. Calls of Hold and Release are counted.
  void Hold();
  void Release();
  // While held: waits until what has begun is done. A round that cannot become
  // full, as nobody has scheduled the rest of it, is committed as it is.
  // DeadlineExceeded, with what is left; FailedPrecondition if something has
  // failed, which is still reported by Put, Join or Done.
  absl::Status AwaitQuiet(Duration timeout);

  // --- The dispatcher's side.

  // The next closure to run, now in flight; null if there is none, or none may
  // run now: on_work is called when that changes.
  ClosurePtr Take();
  // Somebody would take more if there were more: on_work is called when
  // something is put.
  void WantMore();
  // How one ended that is in flight. One that fails after its own cancellation
  // was asked for counts as cancelled.
  void Finish(const ClosurePtr& closure, EncodedValue value);
  void Fail(const ClosurePtr& closure, const absl::Status& status);
  // By cancellation, or else, if nobody has asked for that, it is given back.
  void EndCancelled(const ClosurePtr& closure);
  // Runs again, later. `worker` and `reason` are who had it, and why.
  void GiveBack(const ClosurePtr& closure, Return why,
                const std::string& worker, const absl::Status& reason);
  // The worker had not died after all.
  void Absolve(Closure& closure, const std::string& worker);

  // A failure of the job itself, until it is mended: everything is called off
  // at once, and every call reports it.
  void Break(const absl::Status& status);
  void Mend();
  // A failure that is none of a closure's, reported once: everything is called
  // off at once.
  void FailAll(const absl::Status& status);

  // Rounds; as in RoundTracker.
  bool SetRules(const RoundRules& rules);
  RoundRules rules() const;
  std::optional<RoundDecision> NextCommit();
  void Committed(uint64_t round);
  std::optional<RoundDecision> NextTick();
  void Ticked(const RoundDecision& tick);

  QueueCounts counts() const;
  // Steps above the watermark that are over, such as assignments. Ascending.
  std::vector<uint64_t> OverAbove() const;
  size_t queued() const;
  // Nothing is called any more: who does that is about to go. Callbacks of
  // closures are called at once from then on.
  void Detach();

 private:
  class Notices;
  using Lock = std::unique_lock<std::mutex>;

  // With the lock held. What is to be called without it goes into `notices`.
  void End(Closure& closure, const absl::Status& status, Notices& notices);
  // By its own cancellation or by a failure of others.
  void EndCalledOff(Closure& closure, Notices& notices);
  void AddError(const absl::Status& status, Notices& notices);
  // Begins to call off everything, unless that has begun.
  void CallOff(Notices& notices);
  // Ends it once nothing is in flight any more.
  void FinishCallOff(Notices& notices);
  bool Failing() const { return !errors_.empty() || !broken_.ok(); }
  const absl::Status& PendingError() const {
    return errors_.empty() ? broken_ : errors_.front();
  }
  // While Failing: the error, once everything has been called off.
  std::optional<absl::Status> TryReport(Notices& notices);
  // The pending error, which counts as reported.
  absl::Status TakeError();
  bool Full() const;
  // Whether its key, if it has one, can be scheduled now; as TryPut.
  absl::StatusOr<bool> CheckKey(const Closure& closure) const;
  // Whether it is too far ahead, but not for long.
  bool KeyWaits(const Closure& closure) const;
  void EndSteps(const std::vector<uint64_t>& steps, Notices& notices);
  // The next closure that may be given out now, taken out of its queue.
  ClosurePtr PopNext();
  // The next one that was not in flight before, and may be given out now.
  std::deque<ClosurePtr>::iterator NextFresh();
  // While held: what has begun of a round would be lost without the rest of it.
  std::deque<ClosurePtr>::iterator NextOfBegunRound();
  // Whether nothing runs, or is to run again.
  bool Idle() const;
  bool Quiet() const;
  void Enqueue(const ClosurePtr& closure, Notices& notices);
  bool Over(uint64_t last) const;
  // Waits for changed_ until `ready`, counted in `count` meanwhile; false after
  // `timeout`.
  template <typename Ready>
  bool WaitUntil(Lock& lock, Duration timeout, size_t& count, Ready ready);
  std::string Left() const;

  const ClosureQueueOptions options_;
  // How many call what the options have, and whether nobody may any more.
  std::atomic<size_t> calling_ = 0;
  std::atomic<bool> detached_ = false;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  size_t waiting_ = 0;  // threads, for changed_
  size_t joining_ = 0;  // threads, for changed_ in Join
  // The first that one of them waits for: before that nobody is woken.
  uint64_t join_at_ = UINT64_MAX;
  std::deque<ClosurePtr> fresh_;
  std::map<uint64_t, ClosurePtr> returned_;  // by step
  std::map<uint64_t, ClosurePtr> in_flight_;
  StepLedger ledger_;
  // The same by the order in which they were put: those of a block that were
  // not yet put are no business of a Join.
  StepLedger order_;
  std::map<uint64_t, uint64_t> other_steps_;  // no closures: their order
  KeyLedger keys_;
  RoundTracker rounds_;
  size_t held_ = 0;           // calls of Hold
  uint64_t begun_round_ = 0;  // the last one that a Take has begun
  bool hungry_ = true;        // a Take found nothing
  // Whether closures are given out; what is in flight is being cancelled; or
  // all that an error has called off has ended, and the error is to be
  // reported.
  enum class Phase : uint8_t { kRunning, kCallingOff, kCalledOff };
  Phase phase_ = Phase::kRunning;
  std::vector<absl::Status> errors_;  // of the failure that is pending
  std::vector<absl::Status> last_errors_;
  absl::Status broken_;
  QueueCounts counts_;
};

}  // namespace capstan

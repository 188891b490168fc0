// The closures that are to run, and the contract of Schedule, Join and errors.
//
// A closure is queued, in flight on a worker, or done. If its worker is lost,
// it goes back to the front of the queue, even if the queue is full. A closure
// that fails does not affect the others until Put, Join or Done is called, or
// at once if one of them is waiting. That call stops everything: no more
// closures are given out, those in flight are cancelled and waited for, and
// those that are queued or were lost with their worker are cancelled. Then the
// first error is reported, once, and the queue is as it was at the beginning.
// Closures that fail by themselves meanwhile keep their own errors; LastErrors
// lists all errors.
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
  // How many closures may be queued; Put waits for a place. 0: unbounded.
  size_t capacity = size_t{256} * 1024;
  // A closure fails once this many workers were lost with it.
  size_t poison_limit = 3;
  // A closure fails once this many workers could not reach a server with it.
  uint32_t server_limit = 3;
  // Called without the lock, from any thread; each may be null. on_work: there
  // is something to take. on_cancel_all, on_cancel: cancel all closures in
  // flight, or one. on_change: something happened that a Try call may be
  // waiting for. on_then: a callback of a closure is due.
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
  kAway,     // the same, and the coordinator cannot either
  kLeaving,  // its worker is leaving the job
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

  // Queues `closure`, and assigns its step if it has none. Waits while the
  // queue is full. If an error is pending, reports it instead and does not
  // queue the closure. The closure has no key.
  absl::Status Put(const ClosurePtr& closure);
  // Put without waiting: false if it would have to wait. A closure with a key
  // may also have to wait because the key is too far ahead or has no step yet
  // (NumberKey). AlreadyExists if the key is complete or scheduled;
  // FailedPrecondition if it is too far ahead and nothing is scheduled that
  // would change this, if there are rounds, or if it is not known which keys
  // are complete.
  absl::StatusOr<bool> TryPut(const ClosurePtr& closure);
  // Waits as long as TryPut would have to wait.
  void AwaitPlace(const Closure& closure);

  // Waits until everything that was put before the call is done, or for an
  // error, which it reports. DeadlineExceeded after `timeout`, listing what is
  // left.
  absl::Status Join(Duration timeout);
  // Join without waiting, for what was put up to `last`: nullopt if not done
  // yet. A round of synchronous training that is not full is committed as it
  // is.
  std::optional<absl::Status> TryJoin(uint64_t last);
  // How many closures and other steps were put or begun.
  uint64_t last_put() const;
  // The highest step number so far.
  uint64_t last_step() const;

  // Whether nothing is queued or in flight. Never waits: while an error is
  // pending it returns false until what is in flight has ended, and then
  // reports the error.
  absl::StatusOr<bool> Done();

  // All errors of the last failure that was reported.
  std::vector<absl::Status> LastErrors() const;

  // Waits until the closure is done; false after `timeout`.
  bool Wait(const Closure& closure, Duration timeout);
  bool IsDone(const Closure& closure) const;
  // Of a closure that is done: its status, and its value, which no longer
  // changes.
  absl::Status StatusOf(const Closure& closure) const;
  // Calls `then` through on_then when the closure is done, or now if it is
  // done.
  void Then(Closure& closure, std::function<void()> then);
  // Ends it with Cancelled: at once if it is queued, else when its worker has
  // stopped. Nothing happens if it is done. No error for Join.
  void Cancel(Closure& closure);

  // A step that is not a closure, such as an assignment by the coordinator.
  uint64_t BeginStep();
  void EndStep(uint64_t step);

  // Reserves `count` steps that are to be put in this order; the first one
  // begins a round.
  StepBlock Reserve(uint64_t count);
  // Ends the steps of a block from `first` on that were not put.
  void EndBlock(const StepBlock& block, uint64_t first);

  // --- Keys; see the methods of KeyLedger.

  // Assigns a step to `key` if it has none. Returns whether the servers still
  // have to be told; after that the key may be put.
  bool NumberKey(uint64_t key);
  absl::StatusOr<bool> IsComplete(uint64_t key) const;
  absl::StatusOr<uint64_t> FirstIncomplete() const;
  // FailedPrecondition if it is scheduled or too far ahead.
  absl::Status SkipKey(uint64_t key);
  // FailedPrecondition, naming the key, if a step with a key was begun and is
  // neither complete nor scheduled: the variables may have part of it.
  absl::Status CheckNoPartialKey() const;
  // FailedPrecondition if a step with a key is scheduled; likewise ResetKeys.
  absl::Status CheckNoKeyScheduled() const;

  // What the record must say about the keys, if that has changed since
  // `version`, as returned by the last call. Gives up reserved step numbers
  // that nobody uses while others wait for them.
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

  // Continues where another coordinator stopped, before anything is put.
  struct ResumePoint {
    uint64_t watermark = 0;
    uint64_t last = 0;  // no step above it was begun, except those of blocks
    std::vector<StepBlock> blocks;
    RoundRules rules;
    uint64_t next_round = 1;  // to be assigned
    uint64_t settled = 0;     // the last round that is settled on the servers
  };
  void Resume(const ResumePoint& point);
  // Rounds count from 1 again, as on servers that have no rounds yet. Nothing
  // may be queued or in flight.
  void RestartRounds();

  // Pauses: closures that have not begun are not given out any more, except
  // those that a synchronous round that has begun needs. Calls of Hold and
  // Release nest.
  void Hold();
  void Release();
  // While held: waits until everything that has begun is done. A round that
  // cannot become full, because nobody has scheduled the rest of it, is
  // committed as it is. DeadlineExceeded, listing what is left;
  // FailedPrecondition if something has failed, which Put, Join or Done still
  // reports.
  absl::Status AwaitQuiet(Duration timeout);

  // --- The dispatcher's side.

  // The next closure to run, now in flight. Null if there is none, or none that
  // may run now; on_work is called when that changes.
  ClosurePtr Take();
  // The caller would take more if there were more: on_work is called when
  // something is put.
  void WantMore();
  // The outcome of a closure in flight. One that fails after its own
  // cancellation was requested counts as cancelled.
  void Finish(const ClosurePtr& closure, EncodedValue value);
  void Fail(const ClosurePtr& closure, const absl::Status& status);
  // It ended by cancellation; if nobody had requested that, it is given back.
  void EndCancelled(const ClosurePtr& closure);
  // Queues it again. `worker` had it; `reason` says why it is given back.
  void GiveBack(const ClosurePtr& closure, Return why,
                const std::string& worker, const absl::Status& reason);
  // The worker did not die after all.
  void Absolve(Closure& closure, const std::string& worker);

  // A failure of the job itself, which lasts until Mend: cancels everything at
  // once, and every call reports it.
  void Break(const absl::Status& status);
  void Mend();
  // A failure that does not come from a closure, reported once: cancels
  // everything at once.
  void FailAll(const absl::Status& status);

  // Rounds; see RoundTracker.
  bool SetRules(const RoundRules& rules);
  RoundRules rules() const;
  std::optional<RoundDecision> NextCommit();
  void Committed(uint64_t round);
  std::optional<RoundDecision> NextTick();
  void Ticked(const RoundDecision& tick);

  QueueCounts counts() const;
  // Steps above the watermark that have ended, such as assignments. Ascending.
  std::vector<uint64_t> OverAbove() const;
  size_t queued() const;
  // After this no callback of the options is called, as their owner is about to
  // be destroyed. From then on callbacks of closures are called directly.
  void Detach();

 private:
  class Notices;
  using Lock = std::unique_lock<std::mutex>;

  // With the lock held. What must be called without the lock goes into
  // `notices`.
  void End(Closure& closure, const absl::Status& status, Notices& notices);
  // Ends `closure` because of its own cancellation or of a failure elsewhere.
  void EndCalledOff(Closure& closure, Notices& notices);
  void AddError(const absl::Status& status, Notices& notices);
  // Begins to cancel everything, unless that has begun already.
  void CallOff(Notices& notices);
  // Completes the cancellation once nothing is in flight.
  void FinishCallOff(Notices& notices);
  bool Failing() const { return !errors_.empty() || !broken_.ok(); }
  const absl::Status& PendingError() const {
    return errors_.empty() ? broken_ : errors_.front();
  }
  // While Failing: the error, once everything has been cancelled.
  std::optional<absl::Status> TryReport(Notices& notices);
  // The pending error, which counts as reported.
  absl::Status TakeError();
  bool Full() const;
  // Whether its key, if any, can be scheduled now; errors as of TryPut.
  absl::StatusOr<bool> CheckKey(const Closure& closure) const;
  // Whether its key is too far ahead only until a scheduled one is complete.
  bool KeyWaits(const Closure& closure) const;
  void EndSteps(const std::vector<uint64_t>& steps, Notices& notices);
  // The next closure that may be given out now, taken out of its queue.
  ClosurePtr PopNext();
  // The next one that was never in flight and may be given out now.
  std::deque<ClosurePtr>::iterator NextFresh();
  // While held: the next one of a round that has begun, whose other
  // contributions would be lost without it.
  std::deque<ClosurePtr>::iterator NextOfBegunRound();
  // Idle: nothing is running or waiting to run again. Quiet: also, all
  // synchronous rounds that have begun are committed.
  bool Idle() const;
  bool Quiet() const;
  void Enqueue(const ClosurePtr& closure, Notices& notices);
  bool Over(uint64_t last) const;
  // Waits for changed_ until `ready`, and is counted in `count` meanwhile;
  // false after `timeout`.
  template <typename Ready>
  bool WaitUntil(Lock& lock, Duration timeout, size_t& count, Ready ready);
  std::string Left() const;

  const ClosureQueueOptions options_;
  // How many threads are calling into the options, and whether that is
  // forbidden now.
  std::atomic<size_t> calling_ = 0;
  std::atomic<bool> detached_ = false;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  size_t waiting_ = 0;  // threads, for changed_
  size_t joining_ = 0;  // threads, for changed_ in Join
  // The lowest order that a joining thread waits for; none is woken before.
  uint64_t join_at_ = UINT64_MAX;
  std::deque<ClosurePtr> fresh_;
  std::map<uint64_t, ClosurePtr> returned_;  // by step
  std::map<uint64_t, ClosurePtr> in_flight_;
  StepLedger ledger_;
  // The same by the order in which closures were put: Join must not wait for
  // steps of a block that were not put yet.
  StepLedger order_;
  std::map<uint64_t, uint64_t> other_steps_;  // steps of BeginStep: their order
  KeyLedger keys_;
  RoundTracker rounds_;
  size_t held_ = 0;           // calls of Hold without Release
  uint64_t begun_round_ = 0;  // the last one of which a closure was taken
  bool hungry_ = true;        // a Take found nothing
  // kRunning: closures are given out. kCallingOff: those in flight are being
  // cancelled. kCalledOff: everything has ended, and the error is to be
  // reported.
  enum class Phase : uint8_t { kRunning, kCallingOff, kCalledOff };
  Phase phase_ = Phase::kRunning;
  std::vector<absl::Status> errors_;  // of the pending failure
  std::vector<absl::Status> last_errors_;
  absl::Status broken_;
  QueueCounts counts_;
};

}  // namespace capstan

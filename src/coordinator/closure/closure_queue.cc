#include "coordinator/closure/closure_queue.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "coordinator/closure/queue_notices.h"

namespace capstan {
namespace {

// Kept for each failure; further errors are only counted.
constexpr size_t kMostErrors = 1000;
// Names listed in a message.
constexpr size_t kMostListed = 5;

// Longer than any wait. A larger value would overflow when added to a time.
constexpr Duration kEndless = std::chrono::hours(24 * 365 * 10);

constexpr char kReschedule[] =
    "the function was cancelled because another one failed: schedule it again";

std::string Count(size_t count, const std::string& noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

}  // namespace

ClosureQueue::ClosureQueue(ClosureQueueOptions options)
    : options_(std::move(options)) {}

template <typename Ready>
bool ClosureQueue::WaitUntil(Lock& lock, Duration timeout, size_t& count,
                             Ready ready) {
  ++count;
  bool in_time = true;
  if (timeout >= kEndless) {
    changed_.wait(lock, ready);
  } else {
    in_time = changed_.wait_for(lock, timeout, ready);
  }
  --count;
  return in_time;
}

bool ClosureQueue::Full() const {
  return options_.capacity != 0 && counts_.queued >= options_.capacity;
}

void ClosureQueue::Enqueue(const ClosurePtr& closure, Notices& notices) {
  if (closure->key) closure->step = keys_.Schedule(*closure->key);
  if (closure->step == 0) closure->step = ledger_.Begin();
  closure->order = order_.Begin();
  if (!closure->function->options.reads_only) {
    closure->place = rounds_.Assign(closure->step, closure->order);
  }
  closure->state = Closure::State::kQueued;
  // The variables may contain part of this step, and should get the rest before
  // anything is saved.
  if (closure->key && keys_.begun(*closure->key)) {
    returned_.insert_or_assign(closure->step, closure);
  } else {
    fresh_.push_back(closure);
  }
  ++counts_.queued;
  notices.Work();
}

absl::Status ClosureQueue::TakeError() {
  if (errors_.empty()) return broken_;
  absl::Status first = errors_.front();
  if (errors_.size() > 1) {
    const std::string task = TaskOf(first);
    const absl::optional<absl::Cord> poisoned = first.GetPayload(kPoisonedUrl);
    first = WithTask(
        absl::Status(
            first.code(),
            absl::StrCat(std::string(first.message()), " (and ",
                         Count(errors_.size() - 1, "more error"), ")")),
        task);
    if (poisoned) first.SetPayload(kPoisonedUrl, *poisoned);
  }
  last_errors_ = std::move(errors_);
  errors_.clear();
  if (broken_.ok()) phase_ = Phase::kRunning;
  return first;
}

std::optional<absl::Status> ClosureQueue::TryReport(Notices& notices) {
  CallOff(notices);
  if (phase_ == Phase::kCallingOff) return std::nullopt;
  return TakeError();
}

absl::StatusOr<bool> ClosureQueue::TryPut(const ClosurePtr& closure) {
  Notices notices(*this);
  const Lock lock(mutex_);
  if (Failing()) {
    std::optional<absl::Status> error = TryReport(notices);
    if (!error) return false;
    return *std::move(error);
  }
  const absl::StatusOr<bool> key = CheckKey(*closure);
  if (!key.ok() || !*key) return key;
  if (Full()) return false;
  Enqueue(closure, notices);
  return true;
}

void ClosureQueue::AwaitPlace(const Closure& closure) {
  Lock lock(mutex_);
  WaitUntil(lock, kEndless, waiting_, [&] {
    if (Failing()) return phase_ != Phase::kCallingOff;
    return !Full() && !KeyWaits(closure);
  });
}

absl::Status ClosureQueue::Put(const ClosurePtr& closure) {
  while (true) {
    const absl::StatusOr<bool> put = TryPut(closure);
    if (!put.ok()) return put.status();
    if (*put) return absl::OkStatus();
    AwaitPlace(*closure);
  }
}

uint64_t ClosureQueue::last_step() const {
  const Lock lock(mutex_);
  return ledger_.last();
}

uint64_t ClosureQueue::last_put() const {
  const Lock lock(mutex_);
  return order_.last();
}

bool ClosureQueue::Over(uint64_t last) const {
  return order_.watermark() >= last && rounds_.FirstOpenOrder() > last;
}

std::string ClosureQueue::Left() const {
  std::vector<std::string> names;
  for (const auto& [step, closure] : in_flight_) {
    if (names.size() == kMostListed) break;
    names.push_back(
        absl::StrCat("step ", step, " ('", closure->function->name, "')"));
  }
  std::string text = absl::StrCat(Count(counts_.queued, "function"),
                                  " queued, ", in_flight_.size(), " running");
  if (!names.empty()) {
    absl::StrAppend(&text, ": ", absl::StrJoin(names, ", "),
                    in_flight_.size() > names.size() ? ", ..." : "");
  }
  return text;
}

std::optional<absl::Status> ClosureQueue::TryJoin(uint64_t last) {
  Notices notices(*this);
  const Lock lock(mutex_);
  if (Failing()) return TryReport(notices);
  if (rounds_.FirstOpenOrder() <= last) {
    rounds_.Close();
    notices.work = true;
  }
  // Closures that are put after a Join belong to a round that is not committed
  // yet.
  rounds_.CloseUpTo(rounds_.committed());
  if (!Over(last)) return std::nullopt;
  return absl::OkStatus();
}

absl::Status ClosureQueue::Join(Duration timeout) {
  using Steady = std::chrono::steady_clock;
  const auto begin = Steady::now();
  const uint64_t last = last_put();
  std::optional<absl::Status> status = TryJoin(last);
  while (!status) {
    const Duration left =
        timeout >= kEndless ? timeout : timeout - (Steady::now() - begin);
    Lock lock(mutex_);
    join_at_ = std::min(join_at_, last);
    const bool in_time = WaitUntil(lock, left, joining_, [&] {
      return Failing() ? phase_ != Phase::kCallingOff : Over(last);
    });
    // It is not known whose value that was, so each of the others checks when
    // woken.
    join_at_ = joining_ == 0 ? UINT64_MAX : 0;
    if (!in_time) {
      std::string text = absl::StrCat("Join timed out: ", Left());
      if (Failing()) {
        absl::StrAppend(&text,
                        "; an error is pending, to be thrown once nothing is "
                        "running: ",
                        std::string(PendingError().message()));
      }
      return absl::DeadlineExceededError(text);
    }
    lock.unlock();
    // Another thread may have taken the error.
    status = TryJoin(last);
  }
  return *std::move(status);
}

absl::StatusOr<bool> ClosureQueue::Done() {
  Notices notices(*this);
  const Lock lock(mutex_);
  if (Failing()) {
    std::optional<absl::Status> error = TryReport(notices);
    if (!error) return false;
    return *std::move(error);
  }
  return counts_.queued == 0 && in_flight_.empty();
}

std::vector<absl::Status> ClosureQueue::LastErrors() const {
  const Lock lock(mutex_);
  return last_errors_;
}

bool ClosureQueue::Wait(const Closure& closure, Duration timeout) {
  Lock lock(mutex_);
  return WaitUntil(lock, timeout, closure.awaited,
                   [&] { return closure.state == Closure::State::kDone; });
}

bool ClosureQueue::IsDone(const Closure& closure) const {
  const Lock lock(mutex_);
  return closure.state == Closure::State::kDone;
}

absl::Status ClosureQueue::StatusOf(const Closure& closure) const {
  const Lock lock(mutex_);
  return closure.status;
}

void ClosureQueue::Then(Closure& closure, std::function<void()> then) {
  Notices notices(*this);
  const Lock lock(mutex_);
  if (closure.state == Closure::State::kDone) {
    notices.then.push_back(std::move(then));
  } else {
    closure.then.push_back(std::move(then));
  }
}

void ClosureQueue::Cancel(Closure& closure) {
  Notices notices(*this);
  const Lock lock(mutex_);
  if (closure.state == Closure::State::kQueued) {
    // It stays in the deque; Take skips it.
    --counts_.queued;
    ++counts_.cancelled;
    End(closure, absl::CancelledError("the function was cancelled"), notices);
  } else if (closure.state == Closure::State::kInFlight) {
    closure.cancel_requested = true;
    notices.cancel_step = closure.step;
  }
}

uint64_t ClosureQueue::BeginStep() {
  const Lock lock(mutex_);
  const uint64_t step = ledger_.Begin();
  other_steps_[step] = order_.Begin();
  return step;
}

void ClosureQueue::EndStep(uint64_t step) {
  Notices notices(*this);
  const Lock lock(mutex_);
  ledger_.End(step);
  const auto found = other_steps_.find(step);
  if (found != other_steps_.end()) {
    order_.End(found->second);
    other_steps_.erase(found);
  }
  notices.Changed();
}

StepBlock ClosureQueue::Reserve(uint64_t count) {
  Notices notices(*this);
  const Lock lock(mutex_);
  rounds_.Close();
  notices.work = true;
  StepBlock block;
  block.first = ledger_.Reserve(count);
  block.count = count;
  block.first_round = rounds_.next_round();
  return block;
}

void ClosureQueue::EndBlock(const StepBlock& block, uint64_t first) {
  Notices notices(*this);
  const Lock lock(mutex_);
  for (uint64_t step = std::max(first, block.first); step < block.end();
       ++step) {
    ledger_.End(step);
  }
  notices.Changed();
}

void ClosureQueue::Resume(const ResumePoint& point) {
  const Lock lock(mutex_);
  ledger_.Resume(point.watermark, point.last, point.blocks);
  rounds_.Resume(point.rules, point.next_round, point.settled);
}

void ClosureQueue::RestartRounds() {
  const Lock lock(mutex_);
  rounds_.Resume(rounds_.rules(), 1, 0);
  begun_round_ = 0;
}

void ClosureQueue::Hold() {
  const Lock lock(mutex_);
  ++held_;
}

void ClosureQueue::Release() {
  Notices notices(*this);
  const Lock lock(mutex_);
  if (held_ > 0) --held_;
  notices.work = true;
}

std::deque<ClosureQueue::ClosurePtr>::iterator
ClosureQueue::NextOfBegunRound() {
  if (!rounds_.rules().sync) return fresh_.end();
  for (auto next = fresh_.begin(); next != fresh_.end(); ++next) {
    const uint64_t round = (*next)->place.round;
    // Closures without a round, which only read, may stand between them.
    if (round > begun_round_) break;
    if (round != 0 && (*next)->state != Closure::State::kDone) return next;
  }
  return fresh_.end();
}

std::deque<ClosureQueue::ClosurePtr>::iterator ClosureQueue::NextFresh() {
  // Skip those that were cancelled while they were queued.
  while (!fresh_.empty() && fresh_.front()->state == Closure::State::kDone) {
    fresh_.pop_front();
  }
  const auto next = held_ > 0 ? NextOfBegunRound() : fresh_.begin();
  if (next == fresh_.end() || rounds_.MayRun((*next)->place.round)) return next;
  return fresh_.end();
}

bool ClosureQueue::Idle() const {
  return in_flight_.empty() &&
         std::all_of(returned_.begin(), returned_.end(), [](const auto& item) {
           return item.second->state == Closure::State::kDone;
         });
}

bool ClosureQueue::Quiet() const {
  return Idle() &&
         (!rounds_.rules().sync || rounds_.committed() >= begun_round_);
}

absl::Status ClosureQueue::AwaitQuiet(Duration timeout) {
  using Steady = std::chrono::steady_clock;
  const auto begin = Steady::now();
  while (true) {
    Notices notices(*this);
    Lock lock(mutex_);
    if (Failing()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "a step has failed: ", std::string(PendingError().message())));
    }
    if (Quiet()) return absl::OkStatus();
    if (Idle() && NextOfBegunRound() == fresh_.end()) {
      rounds_.CloseUpTo(begun_round_);
      notices.work = true;
    }
    if (timeout < kEndless && Steady::now() - begin >= timeout) {
      return absl::DeadlineExceededError(
          absl::StrCat("what runs has not ended in time: ", Left()));
    }
    const bool idle = Idle();
    // Not forever: notices are delivered only at the end of each iteration.
    WaitUntil(lock, std::chrono::milliseconds(idle ? 1 : 50), waiting_,
              [&] { return Quiet() || Failing(); });
  }
}

ClosureQueue::ClosurePtr ClosureQueue::PopNext() {
  ClosurePtr next;
  while (next == nullptr) {
    if (!returned_.empty()) {
      const auto first = returned_.begin();
      if (first->second->state != Closure::State::kDone &&
          !rounds_.MayRun(first->second->place.round)) {
        return nullptr;
      }
      next = std::move(first->second);
      returned_.erase(first);
    } else {
      const auto fresh = NextFresh();
      if (fresh == fresh_.end()) return nullptr;
      next = std::move(*fresh);
      fresh_.erase(fresh);
    }
    // Cancelled while it was queued.
    if (next->state == Closure::State::kDone) next = nullptr;
  }
  return next;
}

ClosureQueue::ClosurePtr ClosureQueue::Take() {
  Notices notices(*this);
  const Lock lock(mutex_);
  hungry_ = true;
  if (phase_ != Phase::kRunning) return nullptr;
  ClosurePtr next = PopNext();
  if (next == nullptr) {
    // A round with a failure is not committed, so closures that wait for it
    // would wait forever if nobody called Put, Join or Done.
    if (Failing() && held_ == 0 && in_flight_.empty() && counts_.queued > 0) {
      CallOff(notices);
    }
    return nullptr;
  }
  hungry_ = false;
  if (next->key) keys_.Begin(*next->key);
  const bool was_full = Full();
  --counts_.queued;
  next->state = Closure::State::kInFlight;
  begun_round_ = std::max(begun_round_, next->place.round);
  in_flight_.emplace(next->step, next);
  if (was_full) notices.Changed();
  return next;
}

void ClosureQueue::WantMore() {
  const Lock lock(mutex_);
  hungry_ = true;
}

void ClosureQueue::End(Closure& closure, const absl::Status& status,
                       Notices& notices) {
  closure.state = Closure::State::kDone;
  closure.status = status;
  // The cancellations must be reported, even if the job is mended before
  // anybody asks.
  if (absl::IsCancelled(status) && !closure.cancel_requested &&
      errors_.empty() && !broken_.ok()) {
    errors_.push_back(broken_);
  }
  if (status.ok()) {
    ++counts_.finished;
    rounds_.Finish(closure.place);
  } else {
    rounds_.Miss(closure.place);
  }
  // Unused ranges are returned before anybody learns of the end; waiters learn
  // of it as soon as the lock is released.
  closure.tickets.clear();
  closure.arguments = EncodedValue();
  std::move(closure.resources.begin(), closure.resources.end(),
            std::back_inserter(notices.resources));
  closure.resources.clear();
  for (std::function<void()>& then : closure.then) {
    notices.then.push_back(std::move(then));
  }
  closure.then.clear();
  // A step with a key runs again, so it has not ended until the key is
  // complete.
  if (closure.key) keys_.End(*closure.key, status.ok());
  if (!closure.key || status.ok()) ledger_.End(closure.step);
  order_.End(closure.order);
  // A round may be complete.
  if (closure.place.round != 0) notices.work = true;
  if (closure.awaited > 0) changed_.notify_all();
  notices.Changed();
}

void ClosureQueue::Finish(const ClosurePtr& closure, EncodedValue value) {
  Notices notices(*this);
  const Lock lock(mutex_);
  in_flight_.erase(closure->step);
  closure->value = std::move(value);
  for (DataTicket& ticket : closure->tickets) ticket.Done();
  End(*closure, absl::OkStatus(), notices);
  FinishCallOff(notices);
}

void ClosureQueue::AddError(const absl::Status& status, Notices& notices) {
  if (errors_.size() < kMostErrors) errors_.push_back(status);
  notices.Changed();
}

void ClosureQueue::CallOff(Notices& notices) {
  if (phase_ != Phase::kRunning) return;
  phase_ = Phase::kCallingOff;
  notices.cancel_all = true;
  FinishCallOff(notices);
}

void ClosureQueue::FinishCallOff(Notices& notices) {
  if (phase_ != Phase::kCallingOff || !in_flight_.empty()) return;
  const absl::Status cancelled = absl::CancelledError(kReschedule);
  for (auto& [step, closure] : returned_) {
    notices.released.push_back(std::move(closure));
  }
  returned_.clear();
  for (ClosurePtr& closure : fresh_) {
    notices.released.push_back(std::move(closure));
  }
  fresh_.clear();
  for (const ClosurePtr& closure : notices.released) {
    if (closure->state == Closure::State::kDone) continue;
    --counts_.queued;
    ++counts_.cancelled;
    End(*closure, cancelled, notices);
  }
  rounds_.Abandon();
  notices.work = true;
  phase_ = Phase::kCalledOff;
  notices.Changed();
}

void ClosureQueue::Fail(const ClosurePtr& closure, const absl::Status& status) {
  Notices notices(*this);
  const Lock lock(mutex_);
  in_flight_.erase(closure->step);
  if (closure->cancel_requested) {
    EndCalledOff(*closure, notices);
  } else {
    ++counts_.failed;
    End(*closure, status, notices);
    AddError(status, notices);
  }
  FinishCallOff(notices);
}

void ClosureQueue::FailAll(const absl::Status& status) {
  Notices notices(*this);
  const Lock lock(mutex_);
  AddError(status, notices);
  CallOff(notices);
}

void ClosureQueue::Break(const absl::Status& status) {
  Notices notices(*this);
  const Lock lock(mutex_);
  broken_ = status;
  CallOff(notices);
}

void ClosureQueue::Mend() {
  Notices notices(*this);
  const Lock lock(mutex_);
  if (broken_.ok()) return;
  broken_ = absl::OkStatus();
  // Closures that were not cancelled continue.
  if (errors_.empty()) phase_ = Phase::kRunning;
  notices.Work();
  notices.Changed();
}

void ClosureQueue::EndCalledOff(Closure& closure, Notices& notices) {
  ++counts_.cancelled;
  End(closure,
      absl::CancelledError(closure.cancel_requested
                               ? "the function was cancelled"
                               : kReschedule),
      notices);
}

void ClosureQueue::EndCancelled(const ClosurePtr& closure) {
  bool asked = false;
  {
    Notices notices(*this);
    const Lock lock(mutex_);
    asked = phase_ == Phase::kCallingOff || closure->cancel_requested;
    if (asked) {
      in_flight_.erase(closure->step);
      EndCalledOff(*closure, notices);
      FinishCallOff(notices);
    }
  }
  if (!asked) GiveBack(closure, Return::kUnused, "", absl::OkStatus());
}

void ClosureQueue::GiveBack(const ClosurePtr& closure, Return why,
                            const std::string& worker,
                            const absl::Status& reason) {
  Notices notices(*this);
  const Lock lock(mutex_);
  in_flight_.erase(closure->step);
  if (why == Return::kLost) closure->lost_with.push_back(worker);
  if (why == Return::kServer) ++closure->server_failures;
  // A closure that would have to start from the beginning is not started again
  // for an error that is going to cancel it.
  const bool begun = why != Return::kUnused;
  if (phase_ == Phase::kCallingOff || closure->cancel_requested ||
      (Failing() && begun)) {
    EndCalledOff(*closure, notices);
  } else if (closure->lost_with.size() >= options_.poison_limit) {
    const std::string workers = absl::StrJoin(closure->lost_with, ", ");
    absl::Status status = absl::AbortedError(absl::StrCat(
        "poisoned closure: step ", closure->step, " ('",
        closure->function->name, "') was lost with ", closure->lost_with.size(),
        " workers, which it probably took down: ", workers,
        "; the last: ", std::string(reason.message())));
    status.SetPayload(kPoisonedUrl, absl::Cord(workers));
    ++counts_.poisoned;
    ++counts_.failed;
    End(*closure, status, notices);
    AddError(status, notices);
  } else if (closure->server_failures >= options_.server_limit) {
    ++counts_.failed;
    End(*closure, reason, notices);
    AddError(reason, notices);
  } else {
    if (why == Return::kLost) ++counts_.lost_retries;
    if (why == Return::kServer || why == Return::kAway) {
      ++counts_.server_retries;
    }
    if (why == Return::kLeaving) ++counts_.leaving_retries;
    closure->state = Closure::State::kQueued;
    ++counts_.queued;
    // If it has a key, its place may be taken by a closure that was cancelled.
    returned_.insert_or_assign(closure->step, closure);
    notices.Work();
  }
  FinishCallOff(notices);
}

void ClosureQueue::Absolve(Closure& closure, const std::string& worker) {
  const Lock lock(mutex_);
  const auto found =
      std::find(closure.lost_with.begin(), closure.lost_with.end(), worker);
  if (found != closure.lost_with.end()) closure.lost_with.erase(found);
}

bool ClosureQueue::SetRules(const RoundRules& rules) {
  const Lock lock(mutex_);
  return rounds_.SetRules(rules);
}

RoundRules ClosureQueue::rules() const {
  const Lock lock(mutex_);
  return rounds_.rules();
}

std::optional<RoundDecision> ClosureQueue::NextCommit() {
  const Lock lock(mutex_);
  // Rounds that a failure has interrupted are given up once everything has
  // ended.
  if (Failing() && phase_ != Phase::kCalledOff) return std::nullopt;
  return rounds_.NextCommit();
}

void ClosureQueue::Committed(uint64_t round) {
  Notices notices(*this);
  const Lock lock(mutex_);
  rounds_.Committed(round);
  notices.work = true;
  notices.Changed();
}

std::optional<RoundDecision> ClosureQueue::NextTick() {
  const Lock lock(mutex_);
  return rounds_.NextTick();
}

void ClosureQueue::Ticked(const RoundDecision& tick) {
  Notices notices(*this);
  const Lock lock(mutex_);
  rounds_.Ticked(tick);
  notices.work = true;
  notices.Changed();
}

size_t ClosureQueue::queued() const {
  const Lock lock(mutex_);
  return counts_.queued;
}

QueueCounts ClosureQueue::counts() const {
  const Lock lock(mutex_);
  QueueCounts counts = counts_;
  counts.in_flight = in_flight_.size();
  counts.watermark = std::min(ledger_.watermark(), rounds_.FirstOpenStep() - 1);
  counts.round = rounds_.committed();
  counts.error = PendingError();
  return counts;
}

std::vector<uint64_t> ClosureQueue::OverAbove() const {
  const Lock lock(mutex_);
  std::vector<uint64_t> over;
  const uint64_t watermark =
      std::min(ledger_.watermark(), rounds_.FirstOpenStep() - 1);
  for (uint64_t step = watermark + 1; step <= ledger_.last(); ++step) {
    if (ledger_.IsOver(step)) over.push_back(step);
  }
  return over;
}

void ClosureQueue::Detach() {
  detached_ = true;
  // Each call only posts a message.
  while (calling_ > 0) std::this_thread::yield();
}

}  // namespace capstan

#include "membership/member.h"

#include <algorithm>
#include <asio/post.hpp>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/async/clock.h"
#include "base/status.h"

namespace capstan {
namespace {

uint64_t Milliseconds(Duration duration) {
  return static_cast<uint64_t>(
      std::chrono::floor<std::chrono::milliseconds>(duration).count());
}

}  // namespace

Member::Member(Clock& clock, Logger logger, const Executor& executor,
               MemberOptions options)
    : clock_(clock),
      logger_(std::move(logger)),
      executor_(executor),
      options_(std::move(options)),
      program_(options_.definitions == nullptr
                   ? 0
                   : ProgramFingerprint(*options_.definitions)),
      started_(clock.Now()),
      timer_(clock.NewTimer(executor)),
      last_heard_(started_),
      silence_(options_.silence / 2, started_),
      next_reminder_(started_ + options_.reminder) {}

bool Member::Hears() const {
  return coordinator_term_.term != 0 && session_ != 0 &&
         silence_.At(clock_.Now()) < options_.silence;
}

bool Member::Obey(const CoordinatorTerm& coordinator_term) {
  if (coordinator_term.term == 0) return false;
  if (coordinator_term.holder == coordinator_term_.holder) {
    if (coordinator_term.term < coordinator_term_.term) return false;
  } else if (coordinator_term.term <= coordinator_term_.term || Hears()) {
    return false;
  }
  // Run sleeps until its next reminder or timeout, which have changed now.
  if (coordinator_term_.term == 0 || lost_) WakeRun();
  if (coordinator_term != coordinator_term_) {
    logger_.Info(
        "{} coordinator, term {}",
        coordinator_term_.term == 0 ? "accepted the" : "switched to the new",
        coordinator_term.term);
    coordinator_term_ = coordinator_term;
  }
  last_heard_ = clock_.Now();
  silence_.Restart(last_heard_);
  if (lost_) {
    lost_ = false;
    logger_.Info("the coordinator is back");
  }
  return true;
}

TaskReport Member::OnBeat(const Beat& beat, uint64_t session) {
  const std::lock_guard lock(mutex_);
  if (Obey(beat.coordinator_term)) {
    coordinator_ = beat.address;
    session_ = session;
  } else if (Hears() &&
             beat.coordinator_term.holder != coordinator_term_.holder) {
    SayRefused(beat);
  }
  TaskReport report = ReportLocked();
  if (program_ != 0 && beat.program != 0 && program_ != beat.program) {
    report.definitions = *options_.definitions;
  }
  return report;
}

void Member::SayRefused(const Beat& beat) {
  if (std::exchange(refused_, beat.coordinator_term.holder) ==
      beat.coordinator_term.holder)
    return;
  logger_.Warning(
      "refused a second coordinator ({}): the one at {} (term {}) is in charge",
      beat.address, coordinator_, coordinator_term_.term);
}

TaskReport Member::OnEnd(const EndNotice& notice) {
  const std::lock_guard lock(mutex_);
  if (Obey(notice.coordinator_term)) {
    ended_ = true;
    turned_away_ = notice.reason;
    WakeRun();
  }
  return ReportLocked();
}

void Member::OnDisconnect(uint64_t session) {
  const std::lock_guard lock(mutex_);
  if (session != session_) return;
  // While this task was suspended, the coordinator may have closed the
  // connection, and may be about to open another.
  const MonotonicTime now = clock_.Now();
  silence_.Look(now);
  const std::optional<MonotonicTime> continued = silence_.continued();
  if (!continued || now - *continued >= options_.silence) session_ = 0;
}

TaskReport Member::Report() const {
  const std::lock_guard lock(mutex_);
  return ReportLocked();
}

TaskReport Member::ReportLocked() const {
  TaskReport report;
  report.task = TaskName(options_.self);
  report.version = options_.self.version;
  report.incarnation = options_.self.incarnation;
  report.pid = options_.pid;
  report.uptime_ms = Milliseconds(clock_.Now() - started_);
  if (options_.resident_bytes) {
    report.resident_bytes = options_.resident_bytes();
  }
  report.coordinator_term = coordinator_term_;
  report.coordinator = coordinator_;
  report.hears = Hears();
  report.heard_ms = Milliseconds(clock_.Now() - last_heard_);
  report.insecure = options_.insecure;
  report.program = program_;
  if (options_.add_holdings) options_.add_holdings(report);
  return report;
}

void Member::Stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  WakeRun();
}

void Member::WakeRun() {
  asio::post(executor_, [timer = timer_] { timer->Cancel(); });
}

Task<absl::Status> Member::Run() {
  for (;;) {
    Outlook outlook = Look();
    if (!absl::IsUnknown(outlook.end)) co_return outlook.end;
    co_await timer_->SleepUntil(outlook.look_again);
  }
}

Member::Outlook Member::Look() {
  const std::lock_guard lock(mutex_);
  if (ended_ && turned_away_.empty()) return {kNever, absl::OkStatus()};
  if (ended_) return {kNever, absl::FailedPreconditionError(turned_away_)};
  if (stopped_) return {kNever, absl::CancelledError("stopped")};
  const MonotonicTime now = clock_.Now();
  const Duration silent = silence_.Look(now);
  Outlook outlook = coordinator_term_.term == 0 ? LookForFirst(now)
                                                : LookForReturn(now, silent);
  // Look often enough that time during which this task was suspended hardly
  // counts.
  outlook.look_again = std::min(outlook.look_again, now + options_.silence / 4);
  return outlook;
}

Member::Outlook Member::LookForFirst(MonotonicTime now) {
  const MonotonicTime limit = started_ + options_.start_timeout;
  const std::string away = options_.turned_away_callers
                               ? options_.turned_away_callers()
                               : std::string();
  if (now >= limit) {
    return {kNever,
            absl::UnavailableError(absl::StrCat(
                "no coordinator has called within ",
                RoundedSeconds(options_.start_timeout), " s: ",
                away.empty() ? "start the chief, or check that its cluster "
                               "description has this task's address"
                             : away))};
  }
  if (now >= next_reminder_) {
    next_reminder_ = now + options_.reminder;
    logger_.Info(
        "waiting for the chief's first call ({} s so far, {} s left){}{}",
        RoundedSeconds(now - started_), RoundedSeconds(limit - now),
        away.empty() ? "" : "; ", away);
  }
  return {std::min(next_reminder_, limit), absl::UnknownError("")};
}

Member::Outlook Member::LookForReturn(MonotonicTime now, Duration silent) {
  if (silent < options_.silence) {
    return {now + (options_.silence - silent), absl::UnknownError("")};
  }
  if (silent >= options_.return_timeout) {
    return {kNever,
            absl::UnavailableError(absl::StrCat(
                "no word from the coordinator of term ", coordinator_term_.term,
                " for ", RoundedSeconds(silent), " s; giving up on the job"))};
  }
  const Duration left = options_.return_timeout - silent;
  if (!lost_ || now >= next_reminder_) {
    lost_ = true;
    next_reminder_ = now + options_.reminder;
    logger_.Warning(
        "no word from the coordinator of term {} for {} s; will wait another "
        "{} s for it to come back",
        coordinator_term_.term, RoundedSeconds(silent), RoundedSeconds(left));
  }
  return {now + left, absl::UnknownError("")};
}

}  // namespace capstan

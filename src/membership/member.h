// A task's side of membership in a job: it obeys one coordinator, reports its
// own state, and notices when the job has ended or its coordinator is gone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "base/async/awake_time.h"
#include "base/async/clock.h"
#include "base/async/task.h"
#include "base/log.h"
#include "wire/hello.h"
#include "wire/membership.h"
#include "wire/program.h"

namespace capstan {

struct MemberOptions {
  Hello self;
  bool insecure = false;  // as in TaskReport
  int64_t pid = 0;
  // The current memory use of this process; null for "not known".
  std::function<uint64_t()> resident_bytes;
  // Adds to a report what the task holds; may be null. Called from any thread.
  std::function<void(TaskReport&)> add_holdings;
  // On a worker: what its program defines. Null: not compared.
  std::shared_ptr<const ProgramDefinitions> definitions;
  // Callers refused before they could identify themselves as the coordinator,
  // and why, as in Server::turned_away; null for "not known". Called from any
  // thread.
  std::function<std::string()> turned_away_callers;
  // How long to wait for a coordinator's first call.
  Duration start_timeout = std::chrono::minutes(10);
  // A coordinator that is silent for this long while this task runs, or whose
  // connection has closed, is no longer heard, and another may take over.
  Duration silence = std::chrono::seconds(2);
  // After this long without a coordinator, the task gives up on the job.
  Duration return_timeout = std::chrono::seconds(60);
  // How often to log that the task is waiting for a coordinator.
  Duration reminder = std::chrono::seconds(10);
};

// Thread-safe, except for Run. Must outlive the executor's context.
class Member {
 public:
  // `clock` must outlive the member.
  Member(Clock& clock, Logger logger, const Executor& executor,
         MemberOptions options);

  // Handles a call from a coordinator over the connection of `session`
  // (Hello::session). Obeys the caller if this task obeys it already, or if its
  // term is higher than that of the current coordinator and that one is no
  // longer heard. The report tells the caller whom this task obeys.
  TaskReport OnBeat(const Beat& beat, uint64_t session);

  // If this task obeys the sender of the notice, ends Run: the job has ended,
  // or this task must leave it.
  TaskReport OnEnd(const EndNotice& notice);

  // Call when the connection of `session` has closed.
  void OnDisconnect(uint64_t session);

  TaskReport Report() const;

  // Call once, on the executor. Returns OK when the job has ended,
  // FailedPrecondition when the coordinator told this task to leave,
  // Unavailable when no coordinator was heard for too long, Cancelled after
  // Stop.
  Task<absl::Status> Run();

  // Ends Run.
  void Stop();

 private:
  // What Run should do next.
  struct Outlook {
    MonotonicTime look_again;
    absl::Status end;  // Unknown: continue
  };

  Outlook Look();
  void WakeRun();
  // With the lock held:
  bool Obey(const CoordinatorTerm& coordinator_term);
  // Whether the coordinator that this task obeys is alive.
  bool Hears() const;
  void SayRefused(const Beat& beat);
  TaskReport ReportLocked() const;
  Outlook LookForFirst(MonotonicTime now);
  Outlook LookForReturn(MonotonicTime now, Duration silent);

  Clock& clock_;
  const Logger logger_;
  const Executor executor_;
  const MemberOptions options_;
  const uint64_t program_;  // fingerprint of the definitions, or 0
  const MonotonicTime started_;
  const std::shared_ptr<Timer> timer_;

  // Guards everything below.
  mutable std::mutex mutex_;
  CoordinatorTerm coordinator_term_;
  std::string coordinator_;  // its address
  uint64_t session_ = 0;     // of its last call; 0: the connection has closed
  uint64_t refused_ = 0;     // the holder last refused
  MonotonicTime last_heard_;
  AwakeTime silence_;  // since last_heard_
  MonotonicTime next_reminder_;
  bool lost_ = false;
  bool ended_ = false;
  std::string turned_away_;  // why, if this task was told to leave
  bool stopped_ = false;
};

}  // namespace capstan

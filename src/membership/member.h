// A task's side of being in a job: it obeys one coordinator, reports on itself,
// and notices when the job is over or its coordinator is gone.
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
  // The memory of this process now; null for "not known".
  std::function<uint64_t()> resident_bytes;
  // Adds to a report what the task holds; may be null. Called from any thread.
  std::function<void(TaskReport&)> add_holdings;
  // Of a worker: what its program defines. Null: not compared.
  std::shared_ptr<const ProgramDefinitions> definitions;
  // Who was turned away before it could say that it is a coordinator, and why,
  // as Server::turned_away; null for "not known". Called from any thread.
  std::function<std::string()> turned_away_callers;
  // How long to wait for the first word of a coordinator.
  Duration start_timeout = std::chrono::minutes(10);
  // A coordinator that is silent for so long while this task runs, or whose
  // connection has closed, is not heard any more, and another may take its
  // place;
  Duration silence = std::chrono::seconds(2);
  // and after so long without any the job is given up.
  Duration return_timeout = std::chrono::seconds(60);
  // While it waits for a coordinator it says so this often.
  Duration reminder = std::chrono::seconds(10);
};

// Thread-safe, but for Run. Must outlive the executor's context.
class Member {
 public:
  // `clock` must outlive the member.
  Member(Clock& clock, Logger logger, const Executor& executor,
         MemberOptions options);

  // A coordinator calls, over the connection of `session` (Hello::session).
  // Obeys it if it is the one that this task obeys already, or if its term is
  // higher and that one is not heard any more. The caller sees in the report
  // whom this task obeys.
  TaskReport OnBeat(const Beat& beat, uint64_t session);

  // If it obeys the coordinator of the notice: the job is over, or this task
  // must leave it.
  TaskReport OnEnd(const EndNotice& notice);

  // The connection of `session` has closed.
  void OnDisconnect(uint64_t session);

  TaskReport Report() const;

  // On the executor, once: returns OK when the job is over, FailedPrecondition
  // when the coordinator turned this task away, Unavailable when it has been
  // gone for too long, Cancelled after Stop.
  Task<absl::Status> Run();

  // Ends Run.
  void Stop();

 private:
  // What Run is to do next.
  struct Outlook {
    MonotonicTime look_again;
    absl::Status end;  // Unknown: not the end
  };

  Outlook Look();
  void WakeRun();
  // With the lock held:
  bool Obey(const CoordinatorTerm& coordinator_term);
  // Whether the coordinator that it obeys is there.
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

  // Guards all below.
  mutable std::mutex mutex_;
  CoordinatorTerm coordinator_term_;
  std::string coordinator_;  // its address
  uint64_t session_ = 0;     // of its last call; 0: its connection has closed
  uint64_t refused_ = 0;     // the holder that was last refused
  MonotonicTime last_heard_;
  AwakeTime silence_;  // since then
  MonotonicTime next_reminder_;
  bool lost_ = false;
  bool ended_ = false;
  std::string turned_away_;  // why, if it was
  bool stopped_ = false;
};

}  // namespace capstan

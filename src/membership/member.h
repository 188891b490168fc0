// A task's side of being in a job: it obeys one coordinator, reports on itself,
// and notices when the job is over or its coordinator is gone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/task.h"
#include "wire/hello.h"
#include "wire/membership.h"

namespace capstan {

struct MemberOptions {
  Hello self;
  bool insecure = false;  // as in TaskReport
  int64_t pid = 0;
  // The memory of this process now; null for "not known".
  std::function<uint64_t()> resident_bytes;
  // How long to wait for the first word of a coordinator.
  Duration start_timeout = std::chrono::minutes(10);
  // A coordinator that is silent for so long is taken for gone,
  Duration silence = std::chrono::seconds(2);
  // and after so long will not come back.
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

  // A coordinator in `office` calls. Obeys it if it is the one that this
  // task obeys already, or its term is higher. The caller sees in the report
  // whom this task obeys.
  TaskReport Beat(const Office& office) ABSL_LOCKS_EXCLUDED(mutex_);

  // The same, and the job is over.
  TaskReport End(const Office& office) ABSL_LOCKS_EXCLUDED(mutex_);

  TaskReport Report() const ABSL_LOCKS_EXCLUDED(mutex_);

  // On the executor, once: returns OK when the job is over, Unavailable when
  // the coordinator has been gone for too long, Cancelled after Stop.
  Task<absl::Status> Run();

  // Ends Run.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // What Run is to do next.
  struct Outlook {
    MonotonicTime look_again;
    absl::Status end;  // Unknown: not the end
  };

  bool Obey(const Office& office) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  TaskReport ReportLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Outlook Look() ABSL_LOCKS_EXCLUDED(mutex_);
  Outlook LookForFirst(MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Outlook LookForReturn(MonotonicTime now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WakeRun();

  Clock& clock_;
  const Logger logger_;
  const Executor executor_;
  const MemberOptions options_;
  const MonotonicTime started_;
  const std::shared_ptr<Timer> timer_;

  mutable absl::Mutex mutex_;
  Office office_ ABSL_GUARDED_BY(mutex_);
  MonotonicTime last_heard_ ABSL_GUARDED_BY(mutex_);
  MonotonicTime next_reminder_ ABSL_GUARDED_BY(mutex_);
  bool lost_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace capstan

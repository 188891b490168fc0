// Supervises the processes of a local job, from the first start to the last
// exit.
#pragma once

#include <poll.h>
#include <signal.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/async/clock.h"
#include "launch/local/failure_list.h"
#include "launch/local/restart_policy.h"
#include "launch/local/screen.h"
#include "launch/local/task_process.h"
#include "launch/system/signal_fd.h"

namespace capstan {

struct SupervisorOptions {
  // How often each task is restarted after a failure; see RestartPolicy.
  int max_restarts = 0;
  // Whether the chief may continue without a parameter server: it has
  // checkpoints.
  bool go_on_without_servers = false;
  // Whether the chief has started to tell the tasks that the job has ended;
  // null: never. A chief that fails after that is not restarted: no tasks are
  // left to work for it.
  std::function<bool()> job_is_over = nullptr;
  // How long the chief may continue, to report the failure in its own words,
  // after the job has lost a task it cannot do without.
  Duration report_grace = std::chrono::seconds(10);
  // How long the other tasks may run after the chief has exited with 0.
  Duration end_grace = std::chrono::seconds(2);
  // The same for the evaluator: the last checkpoints date from the end of
  // training, and evaluating one may take as long as an epoch.
  Duration evaluator_grace = std::chrono::hours(1);
  // How long a task may take to exit once asked to.
  Duration stop_grace = std::chrono::milliseconds(1500);
};

// One loop on one thread, however many tasks there are. The job is in one of
// six phases, and only ever moves to a later one:
//
//   running     a failed task (an exit code other than 0, a signal) is
//               restarted while restarts are left, except a chief that fails
//               when the job has ended (see the options). Without restarts left
//               the job continues without the task if it is an evaluator, a
//               worker that is not the last, or a server that is not the last
//               (see the options). Any other failure ends the job, immediately
//               if it is the chief's
//   reporting   otherwise the chief has report_grace to notice and fail, or to
//               finish without the lost task; nothing is restarted
//   ending      the chief has exited with 0; the others have end_grace to exit
//   evaluating  the evaluator has evaluator_grace; the others were asked to end
//               (SIGTERM), and are killed after stop_grace
//   stopping    all were asked to end: after a failure, SIGINT, SIGTERM or
//               SIGHUP, or at the end of end_grace or evaluator_grace
//   killing     all were killed: after stop_grace, or by SIGINT while stopping
//
// Not thread-safe. Reaps all children of the process, including inherited ones.
class Supervisor {
 public:
  using LogPath = std::function<std::string(TaskId)>;

  // The tasks are started in the given order. `signals` must include SIGCHLD,
  // SIGINT, SIGTERM and SIGPIPE. Whatever is passed by reference must outlive
  // this object.
  Supervisor(const SupervisorOptions& options, const Clock& clock,
             Screen& screen, SignalFd& signals, LogPath log_path,
             std::vector<TaskProcess> tasks);

  // Runs the job; call it once. Returns the exit code: the chief's, as
  // ExitCodeOf, if it exited by itself; otherwise 128 plus the number of the
  // signal that stopped the job, or the code of the task whose failure did.
  // CannotRunExitCode if a program could not be started.
  int Run();

  // Why the exit code is not 0, in one line: the first failure, or the signal.
  std::string reason() const;

 private:
  enum class Phase {
    kRunning,
    kReporting,
    kEnding,
    kEvaluating,
    kStopping,
    kKilling
  };

  struct Watched {
    TaskProcess process;
    RestartPolicy policy;
    bool restart_when_gone = false;
    MonotonicTime restart_at = {};  // or later, once it is gone
  };

  void StartAll();
  void Start(Watched& watched);
  void Wait();
  void Poll(Duration timeout);
  void TakeSignals();
  void ReadOutput();
  void Reap();
  void OnExit(Watched& watched, int status);
  void OnFailure(Watched& watched);
  // Records the failure for the report.
  void Note(const Watched& watched, bool last);
  void Restart(Watched& watched, Duration delay);
  bool CanGoOnWithout(Role role) const;
  void GoOnWithout(Watched& watched);
  // Ends the job because of this task's failure.
  void EndBy(const Watched& watched);
  // Tasks of that role that are running or about to be restarted.
  int Count(Role role) const;
  void GoOn();
  void OnDeadline();
  void OnOthersDeadline();
  void EnterReporting(const Watched& watched);
  void EnterEnding();
  void EnterEvaluating();
  void EnterStopping();
  void EnterKilling();
  void SignalAll(int signal_number);
  // All but the evaluator.
  void SignalOthers(int signal_number);
  bool AllGone() const;
  bool EvaluatorGone() const;
  std::string NamesOfLeft() const;
  // All but the evaluator; empty if they are gone.
  std::string NamesOfOthersLeft() const;
  void NoteLog(const absl::Status& status);
  void Report();
  void Flush();

  // Constant after construction.
  const SupervisorOptions options_;
  const Clock& clock_;
  Screen& screen_;
  SignalFd& signals_;
  const LogPath log_path_;

  std::vector<Watched> tasks_;
  Phase phase_ = Phase::kRunning;
  MonotonicTime deadline_ = kNever;  // of the phase
  MonotonicTime evaluate_until_ = kNever;
  bool interrupted_ = false;  // by a signal
  int stopped_by_ = 0;        // the signal that stopped the job, or 0
  bool given_up_ = false;
  bool log_failed_ = false;
  absl::Status start_error_;
  int exit_code_ = 128 + SIGKILL;
  FailureList failures_;
  bool failed_ = false;  // because of `failures_`, so they are reported
  std::vector<pollfd> polled_;
};

}  // namespace capstan

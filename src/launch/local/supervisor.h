// Looks after the processes of a local job, from the start of the first to the
// end of the last.
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
  // How often each task is started again after it failed; see RestartPolicy.
  int max_restarts = 0;
  // Whether the chief may go on without a parameter server: it has checkpoints.
  bool go_on_without_servers = false;
  // Whether the chief has begun to tell the tasks that the job is over; null:
  // never. Nobody is left to work for a chief that fails after that.
  std::function<bool()> job_is_over = nullptr;
  // How long the chief may go on, to report the failure in its own words, when
  // the job has lost a task that it cannot do without.
  Duration report_grace = std::chrono::seconds(10);
  // How long the others may go on after the chief has ended well.
  Duration end_grace = std::chrono::seconds(2);
  // The same of the evaluator: the last checkpoints are as new as the end of
  // the training, and evaluating one may take as long as an epoch.
  Duration evaluator_grace = std::chrono::hours(1);
  // How long a task may take to end once it is asked to.
  Duration stop_grace = std::chrono::milliseconds(1500);
};

// One loop on one thread, whatever the number of tasks. The job is in one of
// six phases, and only ever goes on to a later one:
//
//   running     a task that fails (a code other than 0, a signal) is started
//               again while restarts are left, but for a chief that fails when
//               the job is over (see the options); then the job goes on without
//               it if it is an evaluator, or a worker that is not the last, or
//               a server (see the options) that is not the last. Any other
//               failure ends the job: at once if it is the chief's
//   reporting   else the chief has report_grace to find out and to fail, or to
//               come to its end without the task that is lost; nobody is
//               started again
//   ending      the chief has ended with 0; the others have end_grace to follow
//   evaluating  the evaluator has evaluator_grace; the others were asked to end
//               (SIGTERM), and are killed after stop_grace
//   stopping    all were asked to end: after a failure, SIGINT, SIGTERM or
//               SIGHUP, or at the end of end_grace or evaluator_grace
//   killing     all were killed: after stop_grace, or by SIGINT while stopping
//
// Not thread-safe. Reaps all children of the process, also those it inherits.
class Supervisor {
 public:
  using LogPath = std::function<std::string(TaskId)>;

  // The tasks are started in the order given.
  // `signals` must have SIGCHLD, SIGINT, SIGTERM and SIGPIPE. What is passed
  // by reference must outlive this object.
  Supervisor(const SupervisorOptions& options, const Clock& clock,
             Screen& screen, SignalFd& signals, LogPath log_path,
             std::vector<TaskProcess> tasks);

  // Runs the job; call it once. Returns the exit code: that of the chief, as
  // ExitCodeOf, if it has ended by itself; else 128 plus the number of the
  // signal that has stopped the job, or the code of the task whose failure has.
  // CannotRunExitCode if a program could not be started.
  int Run();

  // Why that is not 0, in one line: what failed first, or the signal.
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
    MonotonicTime restart_at = {};  // or later, when it is gone
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
  // Notes the failure for the report.
  void Note(const Watched& watched, bool last);
  void Restart(Watched& watched, Duration delay);
  bool CanGoOnWithout(Role role) const;
  void GoOnWithout(Watched& watched);
  // The job has failed, by this task.
  void EndBy(const Watched& watched);
  // Tasks of that role that run, or will again.
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
  int stopped_by_ = 0;        // the signal that has stopped the job, or 0
  bool given_up_ = false;
  bool log_failed_ = false;
  absl::Status start_error_;
  int exit_code_ = 128 + SIGKILL;
  FailureList failures_;
  bool failed_ = false;  // by them, and so they are reported
  std::vector<pollfd> polled_;
};

}  // namespace capstan

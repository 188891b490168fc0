// One task of a local job, across all the processes that run it in turn.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "launch/local/local_job.h"
#include "launch/local/task_output.h"
#include "launch/system/file_descriptor.h"

namespace capstan {

// Not thread-safe; see Spawn for the thread that may call Start. The process
// that owns it must be the reaper of orphans (PR_SET_CHILD_SUBREAPER), so that
// it can wait for whatever a task leaves behind.
class TaskProcess {
 public:
  TaskProcess(LocalTask task, TaskOutput output)
      : task_(std::move(task)), output_(std::move(output)) {}

  // Starts the program, for the first time or, once gone, again. Fails like
  // Spawn; the task then stays gone.
  absl::Status Start();

  // Signals the whole process group. Does nothing if gone.
  void Signal(int signal_number);

  // Passes on what the process has written, without waiting for more. Returns
  // the error of the log, see TaskOutput::Take.
  absl::Status ReadOutput();

  // The process was reaped, with this status. Passes on everything it has
  // written. Other processes of its group may remain and keep writing: the task
  // is gone when UpdateGone finds none of them; call it after reaping others.
  absl::Status OnExit(int status);
  absl::Status UpdateGone();

  const LocalTask& task() const { return task_; }
  TaskId id() const { return task_.id; }
  const TaskOutput& output() const { return output_; }

  // What to poll for output; -1 if no more will come.
  int output_fd() const { return pipe_.get(); }

  // The running process, otherwise the last one.
  pid_t pid() const { return pid_; }
  // How it ended, as from waitpid; valid once it has.
  int exit_status() const { return exit_status_; }
  // "worker/0 (pid 12) was killed by SIGKILL", for a failed process.
  std::string DescribeFailure() const;
  // Whether the process itself is running.
  bool running() const { return state_ == State::kRunning; }
  // Whether nothing of the task is running, or it was never started.
  bool gone() const { return state_ == State::kGone; }

 private:
  enum class State { kRunning, kLingering, kGone };

  absl::Status Read(int max_reads);

  LocalTask task_;
  TaskOutput output_;
  FileDescriptor pipe_;
  pid_t pid_ = -1;
  int exit_status_ = 0;
  State state_ = State::kGone;
};

}  // namespace capstan

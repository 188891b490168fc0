// One task of a local job, through all processes that run it in turn.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "launch/local/local_job.h"
#include "launch/local/task_output.h"
#include "launch/system/file_descriptor.h"

namespace capstan {

// Not thread-safe; see Spawn for the thread that Start may be called from. The
// process that owns it must be the reaper of orphans (PR_SET_CHILD_SUBREAPER):
// then what a task leaves behind can be waited for.
class TaskProcess {
 public:
  TaskProcess(LocalTask task, TaskOutput output)
      : task_(std::move(task)), output_(std::move(output)) {}

  // Starts the program, for the first time or, once gone, again. Fails like
  // Spawn; it is then still gone.
  absl::Status Start();

  // Signals the process and all those of its group. Does nothing if gone.
  void Signal(int signal_number);

  // Passes on what the process has written, without waiting for more. Returns
  // the error of the log, see TaskOutput::Take.
  absl::Status ReadOutput();

  // The process was reaped, with this status. Passes on all that it has
  // written. Others of its group may be left, and write on: it is gone when
  // UpdateGone, to be called after others were reaped, finds none.
  absl::Status OnExit(int status);
  absl::Status UpdateGone();

  const LocalTask& task() const { return task_; }
  TaskId id() const { return task_.id; }
  const TaskOutput& output() const { return output_; }

  // What to poll for output; -1 if there is none to come.
  int output_fd() const { return pipe_.get(); }

  // The process that runs, or else the last one.
  pid_t pid() const { return pid_; }
  // How it ended, as from waitpid, once it did.
  int exit_status() const { return exit_status_; }
  // "worker/0 (pid 12) was killed by SIGKILL", of one that has failed.
  std::string DescribeFailure() const;
  // The process itself runs.
  bool running() const { return state_ == State::kRunning; }
  // Nothing of it runs, or it was never started.
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

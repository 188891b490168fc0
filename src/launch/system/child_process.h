// A task as a separate process on this machine: this program, started again
// with other arguments.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace capstan {

// A child that sends one line when it is ready. It is killed when the parent
// dies for any reason, and when this object is destroyed. Move-only. Start and
// use it from one thread, and keep that thread: Linux ties the child's life to
// the thread that started it.
class ChildProcess {
 public:
  // Runs this program with `arguments`, preceded by the program's name. The
  // child reports with ReportReady. Unavailable if it cannot be started.
  static absl::StatusOr<ChildProcess> Start(
      const std::vector<std::string>& arguments);

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  // Waits for the child's line and returns it. Unavailable if the child ended
  // first.
  absl::StatusOr<std::string> WaitReady();

  // Waits for the child to exit: OK if its code is 0, otherwise Aborted with
  // the code or the signal's name.
  absl::Status Wait();

  // Asks the child to end (SIGTERM).
  void Terminate();

  pid_t pid() const { return pid_; }

 private:
  ChildProcess(pid_t pid, int ready_fd) : pid_(pid), ready_fd_(ready_fd) {}
  void Kill();

  pid_t pid_ = -1;  // -1: moved from, or has ended
  int ready_fd_ = -1;
};

// In a child: sends its line (without "\n") to the parent's WaitReady. Call
// once.
absl::Status ReportReady(const std::string& line);

}  // namespace capstan

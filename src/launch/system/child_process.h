// A task as a process of its own on this machine: this very program, started
// again with other arguments.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace capstan {

// A child that says one line when it is ready. It is killed when the parent
// dies, however that happens, and when this object is destroyed. Move-only.
// Start and use it from one thread, and keep that thread: Linux ties the
// child's life to the thread that started it.
class ChildProcess {
 public:
  // Runs this program with `arguments` (the program's name is put before them).
  // The child reports with ReportReady. Unavailable if it cannot be started.
  static absl::StatusOr<ChildProcess> Start(
      const std::vector<std::string>& arguments);

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  // Waits for the child's line and returns it. Unavailable if it ended before.
  absl::StatusOr<std::string> WaitReady();

  // Waits for the child's end: OK if it exits with code 0, else Aborted with
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

// In a child: sends its line (without "\n") to WaitReady of the parent. Call
// once.
absl::Status ReportReady(const std::string& line);

}  // namespace capstan

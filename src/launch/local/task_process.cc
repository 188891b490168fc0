#include "launch/local/task_process.h"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "launch/system/spawn.h"
#include "launch/system/task_exit.h"

namespace capstan {

absl::Status TaskProcess::Start() {
  absl::StatusOr<SpawnedProcess> spawned =
      Spawn(task_.program, task_.arguments, task_.environment);
  if (!spawned.ok()) return spawned.status();
  pid_ = spawned->pid;
  pipe_ = std::move(spawned->output);
  state_ = State::kRunning;
  return absl::OkStatus();
}

void TaskProcess::Signal(int signal_number) {
  if (!gone()) kill(-pid_, signal_number);
}

absl::Status TaskProcess::ReadOutput() {
  // Bounded, so that a task that writes without end does not starve others.
  return Read(4);
}

absl::Status TaskProcess::OnExit(int status) {
  exit_status_ = status;
  state_ = State::kLingering;
  // More than a pipe holds: any further output is from another process.
  absl::Status logged = Read(64);
  output_.End();
  return logged;
}

absl::Status TaskProcess::UpdateGone() {
  // The kernel does not reuse a process group's number while it has members.
  if (state_ != State::kLingering || kill(-pid_, 0) == 0 || errno != ESRCH) {
    return absl::OkStatus();
  }
  state_ = State::kGone;
  absl::Status logged = Read(64);
  // A process that still writes has left the group to run independently.
  pipe_.Close();
  output_.End();
  return logged;
}

std::string TaskProcess::DescribeFailure() const {
  return fmt::format("{} (pid {}) {}", task_.id.ToString(), pid_,
                     DescribeExit(exit_status_));
}

absl::Status TaskProcess::Read(int max_reads) {
  std::array<char, 1 << 14> buffer;
  absl::Status status;
  for (int i = 0; i < max_reads && pipe_.valid(); ++i) {
    const ssize_t count = read(pipe_.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    if (count <= 0) {
      pipe_.Close();
      break;
    }
    status.Update(output_.Take(
        std::string_view(buffer.data(), static_cast<size_t>(count))));
  }
  return status;
}

}  // namespace capstan

#include "launch/system/run_and_read.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/async/real_clock.h"
#include "base/status.h"
#include "launch/system/spawn.h"
#include "launch/system/task_exit.h"

namespace capstan {
namespace {

constexpr size_t kMostOutput = size_t{64} << 10;

// Reads until all writers have closed. False at the deadline.
bool ReadToEnd(int fd, MonotonicTime deadline, std::string& output) {
  const RealClock clock;
  std::array<char, 4096> buffer;
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - clock.Now());
    if (left.count() <= 0) return false;
    pollfd polled = {fd, POLLIN, 0};
    if (poll(&polled, 1, static_cast<int>(left.count())) <= 0) continue;
    const ssize_t count = read(fd, buffer.data(), buffer.size());
    if (count == 0) return true;
    if (count < 0 && errno != EINTR && errno != EAGAIN) return true;
    if (count <= 0) continue;
    const size_t room = kMostOutput - output.size();
    output.append(buffer.data(), std::min(room, static_cast<size_t>(count)));
  }
}

}  // namespace

absl::StatusOr<std::string> RunAndRead(
    const std::string& program, const std::vector<std::string>& arguments,
    const std::vector<std::string>& environment, Duration timeout) {
  const MonotonicTime deadline = RealClock().Now() + timeout;
  const absl::StatusOr<SpawnedProcess> process =
      Spawn(program, arguments, environment);
  CAPSTAN_RETURN_IF_ERROR(process.status());
  std::string output;
  const bool ended = ReadToEnd(process->output.get(), deadline, output);
  // A process that closed its output but keeps running would never be reaped.
  kill(-process->pid, SIGKILL);
  int status = 0;
  while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR) continue;
  if (!ended) {
    return absl::DeadlineExceededError(
        absl::StrCat(program, " did not end in time"));
  }
  if (status == 0) return output;
  return absl::AbortedError(
      absl::StrCat(program, " ", DescribeExit(status), ": ",
                   absl::StripTrailingAsciiWhitespace(output)));
}

}  // namespace capstan

#include "launch/system/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"

namespace capstan {
namespace {

// The descriptor on which a child finds the pipe to its parent.
constexpr int kReadyFd = 3;

// Runs in the child between fork and exec, where only system calls are safe.
[[noreturn]] void Exec(char** arguments, int ready_fd, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have died before the line above.
  if (getppid() != parent) _exit(127);
  // dup2 onto itself would leave the descriptor close-on-exec.
  if (ready_fd == kReadyFd) {
    fcntl(ready_fd, F_SETFD, 0);
  } else if (dup2(ready_fd, kReadyFd) < 0) {
    _exit(127);
  }
  execv("/proc/self/exe", arguments);
  _exit(127);
}

}  // namespace

absl::StatusOr<ChildProcess> ChildProcess::Start(
    const std::vector<std::string>& arguments) {
  std::string name = program_invocation_short_name;
  std::vector<std::string> copies = arguments;
  std::vector<char*> pointers = {name.data()};
  for (std::string& copy : copies) pointers.push_back(copy.data());
  pointers.push_back(nullptr);

  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return absl::UnavailableError(absl::StrCat("pipe: ", strerror(errno)));
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) Exec(pointers.data(), ends[1], parent);
  const int error = errno;
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    return absl::UnavailableError(absl::StrCat("fork: ", strerror(error)));
  }
  return ChildProcess(pid, ends[0]);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      ready_fd_(std::exchange(other.ready_fd_, -1)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(ready_fd_, other.ready_fd_);
  return *this;
}

ChildProcess::~ChildProcess() {
  Kill();
  if (ready_fd_ >= 0) close(ready_fd_);
}

absl::StatusOr<std::string> ChildProcess::WaitReady() {
  std::string line;
  char character;
  while (true) {
    const ssize_t count = read(ready_fd_, &character, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      return absl::UnavailableError(
          absl::StrCat("process ", pid_, " ended before it was ready"));
    }
    if (character == '\n') return line;
    line.push_back(character);
  }
}

absl::Status ChildProcess::Wait() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0) {
    if (errno != EINTR) {
      return absl::AbortedError(absl::StrCat("waitpid: ", strerror(errno)));
    }
  }
  pid_ = -1;
  if (WIFSIGNALED(status)) {
    return absl::AbortedError(
        absl::StrCat("killed by ", strsignal(WTERMSIG(status))));
  }
  if (WEXITSTATUS(status) != 0) {
    return absl::AbortedError(
        absl::StrCat("exited with code ", WEXITSTATUS(status)));
  }
  return absl::OkStatus();
}

void ChildProcess::Terminate() {
  if (pid_ > 0) kill(pid_, SIGTERM);
}

void ChildProcess::Kill() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  Wait().IgnoreError();
}

absl::Status ReportReady(const std::string& line) {
  const std::string text = line + "\n";
  const ssize_t written = write(kReadyFd, text.data(), text.size());
  close(kReadyFd);
  if (written != static_cast<ssize_t>(text.size())) {
    return absl::UnavailableError(
        absl::StrCat("cannot tell the parent: ", strerror(errno)));
  }
  return absl::OkStatus();
}

}  // namespace capstan

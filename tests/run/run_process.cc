#include "run/run_process.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "launch/system/file_descriptor.h"
#include "launch/system/task_exit.h"
#include "testing/status_matchers.h"

namespace capstan::testing {
namespace {

constexpr int kLimitMs = 60'000;

std::vector<std::string> RunArguments(const std::string& script,
                                      const RunProcess::Options& options) {
  std::vector<std::string> arguments = {"run"};
  arguments.insert(arguments.end(), options.flags.begin(), options.flags.end());
  arguments.insert(arguments.end(), {"--", "sh", "-c", script});
  return arguments;
}

// The function of that name in glibc 2.36 cannot be called from C++.
FileDescriptor OpenProcess(pid_t pid) {
  return FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

bool WaitReadable(int fd) {
  pollfd polled = {fd, POLLIN, 0};
  return poll(&polled, 1, kLimitMs) == 1;
}

}  // namespace

RunProcess::RunProcess(const std::string& script, const Options& options)
    : RunProcess(RunArguments(script, options), options) {}

RunProcess::RunProcess(const std::vector<std::string>& arguments,
                       const Options& options) {
  std::vector<std::string> command = {
      "sh", "-c",
      // A run that is killed leaves its sockets behind.
      "cd \"$0\"; export TMPDIR=\"$PWD\"; " + options.before + "; exec \"$@\"",
      dir_.path(), CAPSTAN_RUN_TEST_CAPSTAN};
  command.insert(command.end(), arguments.begin(), arguments.end());
  auto process = Spawn(
      "/bin/sh", command,
      {"PATH=/usr/local/bin:/usr/bin:/bin", "TEST_SERVER=" + options.server});
  EXPECT_OK(process);
  if (process.ok()) process_ = *std::move(process);
}

RunProcess::~RunProcess() {
  if (reaped_ || pid() <= 0) return;
  Signal(SIGKILL);
  waitpid(pid(), nullptr, 0);
}

bool RunProcess::ReadSome() {
  if (!WaitReadable(process_.output.get())) {
    ADD_FAILURE() << "no more output after " << output_;
    return false;
  }
  std::array<char, 1 << 16> buffer;
  const ssize_t count =
      read(process_.output.get(), buffer.data(), buffer.size());
  if (count <= 0) return false;
  output_.append(buffer.data(), static_cast<size_t>(count));
  return true;
}

void RunProcess::WaitForOutput(std::string_view text, int times) {
  size_t from = 0;
  while (times > 0) {
    const size_t found = output_.find(text, from);
    if (found != std::string::npos) {
      from = found + text.size();
      --times;
    } else if (!ReadSome()) {
      FAIL() << "no " << text << " in " << output_;
    }
  }
}

void RunProcess::WaitForUnread(int bytes) {
  const auto limit =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(kLimitMs);
  int unread = 0;
  while (unread < bytes) {
    ASSERT_LT(std::chrono::steady_clock::now(), limit);
    ASSERT_EQ(ioctl(process_.output.get(), FIONREAD, &unread), 0);
    sched_yield();
  }
}

void RunProcess::Signal(int signal_number) const {
  EXPECT_EQ(kill(pid(), signal_number), 0);
}

int RunProcess::Wait() {
  while (ReadSome()) continue;
  return Reap();
}

int RunProcess::WaitWithoutReading() {
  const int code = Reap();
  while (ReadSome()) continue;
  return code;
}

int RunProcess::Reap() {
  WaitUntilGone(pid());
  int status = 0;
  if (waitpid(pid(), &status, WNOHANG) != pid()) {
    ADD_FAILURE() << "it still runs";
    return -1;
  }
  reaped_ = true;
  return ExitCodeOf(status);
}

std::vector<std::string> RunProcess::After(std::string_view mark) const {
  std::vector<std::string> found;
  size_t at = 0;
  while ((at = output_.find(mark, at)) != std::string::npos) {
    at += mark.size();
    found.push_back(output_.substr(at, output_.find('\n', at) - at));
  }
  return found;
}

std::string RunProcess::Log(const std::string& task) const {
  for (const auto& run : std::filesystem::directory_iterator(dir_ / "runs")) {
    std::ifstream file(run.path() / "logs" / (task + ".log"), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  return "no run";
}

void WaitUntilGone(pid_t pid) {
  const FileDescriptor process = OpenProcess(pid);
  if (!process.valid()) return;
  EXPECT_TRUE(WaitReadable(process.get())) << pid << " still runs";
}

bool IsAlive(pid_t pid) {
  const FileDescriptor process = OpenProcess(pid);
  pollfd polled = {process.get(), POLLIN, 0};
  return process.valid() && poll(&polled, 1, 0) == 0;
}

}  // namespace capstan::testing

#include "launch/system/spawn.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>

#include "launch/system/signal_fd.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace capstan {
namespace {

using ::capstan::testing::StatusIs;
using ::capstan::testing::TempDir;
using ::testing::HasSubstr;

// Everything that the process writes until it ends.
std::string Finish(SpawnedProcess& process) {
  std::string all;
  std::array<char, 4096> buffer;
  pollfd polled = {process.output.get(), POLLIN, 0};
  while (poll(&polled, 1, 60'000) == 1) {
    const ssize_t count =
        read(process.output.get(), buffer.data(), buffer.size());
    if (count <= 0) break;
    all.append(buffer.data(), static_cast<size_t>(count));
  }
  waitpid(process.pid, nullptr, 0);
  return all;
}

std::string OutputOf(const std::string& script) {
  absl::StatusOr<SpawnedProcess> process =
      Spawn("/bin/sh", {"sh", "-c", script}, {"A=1"});
  EXPECT_OK(process);
  return process.ok() ? Finish(*process) : "";
}

TEST(SpawnTest, OutputAndErrorsInOrder) {
  EXPECT_EQ(OutputOf("echo one; echo two >&2; echo three"),
            "one\ntwo\nthree\n");
}

TEST(SpawnTest, TheEnvironmentIsWhatIsGiven) {
  EXPECT_EQ(OutputOf("echo $A-$HOME-"), "1--\n");
}

TEST(SpawnTest, ThereIsNothingToRead) {
  EXPECT_EQ(OutputOf("cat; echo end"), "end\n");
}

TEST(SpawnTest, LeadsItsGroup) {
  absl::StatusOr<SpawnedProcess> process =
      Spawn("/bin/sh", {"sh", "-c", "while :; do sleep 1; done"}, {});
  ASSERT_OK(process);
  EXPECT_EQ(getpgid(process->pid), process->pid);
  kill(-process->pid, SIGKILL);
  Finish(*process);
}

std::string StatusOf(const std::string& process) {
  std::ifstream file("/proc/" + process + "/status");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// The signals that a process ignores, from the text of /proc/.../status.
uint64_t Ignored(const std::string& status) {
  const size_t at = status.find("SigIgn:\t");
  EXPECT_NE(at, std::string::npos);
  return std::stoull(status.substr(at + 8, 16), nullptr, 16);
}

TEST(SpawnTest, SignalsAreAsUsual) {
  const absl::StatusOr<SignalFd> blocked = SignalFd::Open({SIGTERM, SIGINT});
  ASSERT_OK(blocked);
  const uint64_t before = Ignored(StatusOf("self"));
  signal(SIGPIPE, SIG_IGN);
  const std::string status = OutputOf("cat /proc/self/status");
  EXPECT_THAT(status, HasSubstr("SigBlk:\t0000000000000000"));
  // The rest is inherited from whoever started this test.
  uint64_t reset = 0;
  for (const int number : {SIGINT, SIGTERM, SIGPIPE}) {
    reset |= uint64_t{1} << (number - 1);
  }
  EXPECT_EQ(Ignored(status), before & ~reset);
  signal(SIGPIPE, SIG_DFL);
}

TEST(SpawnTest, NoDescriptorOfItsOwnIsInherited) {
  // Descriptors that this process inherited.
  int inherited = 0;
  for (int fd = 3; fd < 1024; ++fd) {
    const int flags = fcntl(fd, F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) ++inherited;
  }
  const std::string listed = OutputOf("exec /bin/ls /proc/self/fd");
  // The three standard ones, and the folder that ls reads.
  EXPECT_EQ(std::count(listed.begin(), listed.end(), '\n'), inherited + 4)
      << listed;
}

TEST(SpawnTest, SaysWhyItCannotRun) {
  const TempDir dir;
  EXPECT_THAT(Spawn(dir / "none", {"none"}, {}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("No such file")));
  std::ofstream(dir / "text") << "echo hello\n";
  ASSERT_EQ(chmod((dir / "text").c_str(), 0700), 0);
  EXPECT_THAT(Spawn(dir / "text", {"text"}, {}),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("needs a first line")));
  EXPECT_THAT(Spawn(dir.path(), {"dir"}, {}),
              StatusIs(absl::StatusCode::kPermissionDenied));
}

TEST(BecomeTest, ReturnsOnlyIfItFails) {
  EXPECT_THAT(Become("/no/such/file", {"x"}, {}),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(Become("/etc/passwd", {"x"}, {}),
              StatusIs(absl::StatusCode::kPermissionDenied));
}

}  // namespace
}  // namespace capstan

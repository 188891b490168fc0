// What Unix sockets add to the contract of Network: files and users.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asio/co_spawn.hpp>
#include <asio/use_future.hpp>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/async/io_thread.h"
#include "base/async/real_clock.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"
#include "transport/tcp/peer_user.h"
#include "transport/tcp/tcp_network.h"

namespace capstan {
namespace {

using absl::StatusCode::kPermissionDenied;
using absl::StatusCode::kUnavailable;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::StatusIs;
using testing::TempDir;

constexpr uid_t kNobody = 65534;

sockaddr_un Name(const std::string& path) {
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  path.copy(name.sun_path, sizeof(name.sun_path) - 1);
  return name;
}

int BareListener(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un name = Name(path);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0 ||
      listen(fd, 16) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

bool Exists(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0;
}

class UnixSocketTest : public ::testing::Test {
 protected:
  using NewAcceptor = absl::StatusOr<std::unique_ptr<Acceptor>>;
  using NewStream = absl::StatusOr<std::unique_ptr<Stream>>;

  UnixSocketTest() : path_(directory_ / "socket") {}
  ~UnixSocketTest() override { thread_.Stop(); }

  NewAcceptor Listen() { return network_.Listen(executor(), "unix:" + path_); }
  NewStream Connect(TcpNetwork& network) {
    const MonotonicTime deadline = clock_.Now() + std::chrono::seconds(30);
    return asio::co_spawn(
               executor(),
               network.Connect(executor(), "unix:" + path_, deadline),
               asio::use_future)
        .get();
  }
  std::future<NewStream> StartAccept(Acceptor& acceptor) {
    return asio::co_spawn(executor(), acceptor.Accept(executor()),
                          asio::use_future);
  }
  Executor executor() { return thread_.executor(); }

  // Makes a file that a process has left behind.
  void MakeStale() {
    const int fd = BareListener(path_);
    ASSERT_GE(fd, 0);
    close(fd);
    ASSERT_TRUE(Exists(path_));
  }

  RealClock clock_;
  const TempDir directory_;
  const std::string path_;
  IoThread thread_;
  TcpNetwork network_{clock_};
};

TEST_F(UnixSocketTest, NobodyListensOnAStaleFile) {
  MakeStale();
  EXPECT_THAT(Connect(network_),
              StatusIs(kUnavailable, HasSubstr("Connection refused")));
}

TEST_F(UnixSocketTest, StaleFileIsReplaced) {
  MakeStale();
  const NewAcceptor acceptor = Listen();
  ASSERT_OK(acceptor);
  EXPECT_OK(Connect(network_));
}

TEST_F(UnixSocketTest, OthersCannotUseTheFile) {
  const NewAcceptor acceptor = Listen();
  ASSERT_OK(acceptor);
  struct stat info;
  ASSERT_EQ(lstat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(UnixSocketTest, OfManyThatReplaceAStaleFileOneListens) {
  for (int round = 0; round < 20; ++round) {
    MakeStale();
    std::vector<NewAcceptor> acceptors(4);
    std::vector<std::thread> threads;
    for (NewAcceptor& acceptor : acceptors) {
      threads.emplace_back([&] { acceptor = Listen(); });
    }
    for (std::thread& thread : threads) thread.join();
    int listening = 0;
    for (const NewAcceptor& acceptor : acceptors) listening += acceptor.ok();
    EXPECT_EQ(listening, 1);
    EXPECT_OK(Connect(network_));
  }
}

TEST_F(UnixSocketTest, FileThatIsNoSocketIsLeftAlone) {
  close(open(path_.c_str(), O_CREAT | O_WRONLY, 0600));
  EXPECT_THAT(Listen(), StatusIs(kUnavailable, HasSubstr("in use")));
  EXPECT_TRUE(Exists(path_));
}

TEST_F(UnixSocketTest, CloseLeavesTheFileOfAnotherAlone) {
  const NewAcceptor first = Listen();
  ASSERT_OK(first);
  ASSERT_EQ(unlink(path_.c_str()), 0);
  const NewAcceptor second = Listen();
  ASSERT_OK(second);
  (*first)->Close();
  EXPECT_OK(Connect(network_));
  (*second)->Close();
  EXPECT_FALSE(Exists(path_));
}

TEST(PeerUserTest, SameUserAndRoot) {
  EXPECT_OK(CheckPeerUser({1000, 7}, 1000));
  EXPECT_OK(CheckPeerUser({0, 7}, 1000));
  EXPECT_OK(CheckPeerUser({0, 7}, 0));
  EXPECT_THAT(CheckPeerUser({1001, 7}, 1000),
              StatusIs(kPermissionDenied,
                       AllOf(HasSubstr("process 7"), HasSubstr("user 1001"),
                             HasSubstr("user 1000"))));
  EXPECT_THAT(CheckPeerUser({1000, 7}, 0), StatusIs(kPermissionDenied));
}

TEST(PeerUserTest, SocketWithoutAPeer) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_THAT(ReadPeerUser(fd), StatusIs(kUnavailable));
  close(fd);
}

// A network that sees every peer as belonging to another user.
class OtherUserTest : public UnixSocketTest {
 protected:
  static TcpSeams Other() {
    TcpSeams seams;
    seams.read_peer = [](int socket) {
      absl::StatusOr<PeerUser> peer = ReadPeerUser(socket);
      if (peer.ok()) peer->user = ::geteuid() + 1;
      return peer;
    };
    return seams;
  }
  TcpNetwork other_{clock_, Other()};
};

TEST_F(OtherUserTest, IsNotAccepted) {
  const NewAcceptor acceptor = other_.Listen(executor(), "unix:" + path_);
  ASSERT_OK(acceptor);
  std::future<NewStream> accepted = StartAccept(**acceptor);
  EXPECT_OK(Connect(network_));
  EXPECT_THAT(accepted.get(), StatusIs(kPermissionDenied));
}

TEST_F(OtherUserTest, IsNotConnectedTo) {
  const NewAcceptor acceptor = Listen();
  ASSERT_OK(acceptor);
  EXPECT_THAT(Connect(other_), StatusIs(kPermissionDenied, HasSubstr(path_)));
}

// The same with a real process of another user, which only root can start:
// folder and files are open to everyone, so only the check can stop it.
class NobodyTest : public UnixSocketTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
    ASSERT_EQ(chmod(directory_.path().c_str(), 0777), 0);
  }

  // Runs `work`, which makes system calls only, as user nobody. Returns the
  // exit code.
  template <typename Work>
  static int RunAsNobody(Work work) {
    const pid_t child = fork();
    if (child == 0) {
      if (setgid(kNobody) != 0 || setuid(kNobody) != 0) _exit(90);
      _exit(work());
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 91;
  }
};

TEST_F(NobodyTest, IsNotAccepted) {
  const NewAcceptor acceptor = Listen();
  ASSERT_OK(acceptor);
  const sockaddr_un name = Name(path_);
  const auto connect_as_nobody = [&name] {
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) !=
        0) {
      return errno == EACCES ? 1 : 2;
    }
    // Must read nothing but the end.
    char byte;
    return read(fd, &byte, 1) == 0 ? 0 : 3;
  };
  // The mode of the file keeps it out.
  EXPECT_EQ(RunAsNobody(connect_as_nobody), 1);
  ASSERT_EQ(chmod(path_.c_str(), 0666), 0);
  std::future<NewStream> accepted = StartAccept(**acceptor);
  EXPECT_EQ(RunAsNobody(connect_as_nobody), 0);
  EXPECT_THAT(accepted.get(),
              StatusIs(kPermissionDenied, HasSubstr("user 65534")));
}

TEST_F(NobodyTest, IsNotConnectedTo) {
  const std::string path = path_;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(kNobody) != 0 || setuid(kNobody) != 0) _exit(90);
    const bool listens = BareListener(path) >= 0;
    if (listens && write(ready[1], "x", 1) == 1) pause();
    _exit(91);
  }
  char byte;
  close(ready[1]);
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  close(ready[0]);
  EXPECT_THAT(Connect(network_),
              StatusIs(kPermissionDenied, HasSubstr("user 65534")));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace capstan

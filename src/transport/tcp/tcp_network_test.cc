// What TCP adds to the contract of Network: hosts with several addresses.
#include "transport/tcp/tcp_network.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <asio/co_spawn.hpp>
#include <asio/use_future.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/async/io_thread.h"
#include "base/async/real_clock.h"
#include "testing/status_matchers.h"
#include "transport/tcp/address.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

// An address that does not answer: the kernel drops packets to a listener whose
// queue is full.
class BlackHole {
 public:
  BlackHole(const char* number, int port) {
    sockaddr_in where = {};
    where.sin_family = AF_INET;
    where.sin_port = htons(static_cast<uint16_t>(port));
    inet_pton(AF_INET, number, &where.sin_addr);
    const auto* generic = reinterpret_cast<const sockaddr*>(&where);
    const int listener = NewSocket(0);
    EXPECT_EQ(bind(listener, generic, sizeof(where)), 0);
    EXPECT_EQ(listen(listener, 0), 0);
    // More than the queue holds.
    for (int i = 0; i < 4; ++i) {
      connect(NewSocket(SOCK_NONBLOCK), generic, sizeof(where));
    }
  }
  ~BlackHole() {
    for (const int fd : sockets_) close(fd);
  }

 private:
  int NewSocket(int flags) {
    sockets_.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
    return sockets_.back();
  }
  std::vector<int> sockets_;
};

class TcpNetworkTest : public ::testing::Test {
 protected:
  // Somebody listens on 127.0.0.1.
  TcpNetworkTest()
      : acceptor_(network_.Listen(thread_.executor(), "127.0.0.1:0").value()),
        port_(ParseHostPort(acceptor_->address())->port) {}
  ~TcpNetworkTest() override { thread_.Stop(); }

  // Connects to a host that has these addresses.
  absl::Status Connect(std::vector<std::string> numbers) {
    TcpSeams seams;
    seams.look_up = [&](const std::string& host) {
      EXPECT_EQ(host, "both.example");
      return numbers;
    };
    TcpNetwork network(clock_, std::move(seams));
    const MonotonicTime deadline = clock_.Now() + std::chrono::seconds(30);
    auto connected = asio::co_spawn(
        thread_.executor(),
        network.Connect(thread_.executor(),
                        absl::StrCat("both.example:", port_), deadline),
        asio::use_future);
    return connected.get().status();
  }

  RealClock clock_;
  IoThread thread_;
  TcpNetwork network_{clock_};
  const std::unique_ptr<Acceptor> acceptor_;
  const std::string port_;
};

TEST_F(TcpNetworkTest, AddressThatDoesNotAnswerDoesNotTakeAllTheTime) {
  const BlackHole hole("127.0.0.2", std::stoi(port_));
  EXPECT_OK(Connect({"127.0.0.2", "127.0.0.1"}));
  EXPECT_OK(Connect({"127.0.0.2", "127.0.0.3", "127.0.0.1"}));
}

TEST_F(TcpNetworkTest, AddressThatRefusesIsNotWaitedFor) {
  EXPECT_OK(Connect({"127.0.0.3", "127.0.0.4", "127.0.0.1"}));
  EXPECT_OK(Connect({"127.0.0.1", "127.0.0.3"}));
}

TEST_F(TcpNetworkTest, AllAddressesRefuse) {
  EXPECT_THAT(
      Connect({"127.0.0.3", "127.0.0.4"}),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("both.example:")));
  EXPECT_THAT(Connect({}), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(TcpNetworkTest, TooManyOpenFilesComeWithTheRemedy) {
  // UBSan needs a descriptor for the first virtual call of each kind.
  (void)Connect({"127.0.0.1"});
  (void)Connect({"127.0.0.2"});  // refused
  (void)network_.Listen(thread_.executor(), "127.0.0.1:0");
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  // Sockets that are already open stay open.
  const rlimit limit = {.rlim_cur = 3, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  const absl::Status connected = Connect({"127.0.0.1"});
  const absl::Status listening =
      network_.Listen(thread_.executor(), "127.0.0.1:0").status();
  setrlimit(RLIMIT_NOFILE, &before);
  for (const absl::Status& status : {connected, listening}) {
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kUnavailable,
                         HasSubstr("Too many open files (the limit of this "
                                   "process is 3; raise it")));
  }
}

}  // namespace
}  // namespace capstan

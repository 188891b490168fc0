#include "launch/local/held_ports.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <set>

#include "testing/status_matchers.h"

namespace capstan {
namespace {

bool CanListen(int port, int reuse) {
  const FileDescriptor listener(socket(AF_INET, SOCK_STREAM, 0));
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return bind(listener.get(), reinterpret_cast<sockaddr*>(&address),
              sizeof(address)) == 0 &&
         listen(listener.get(), 1) == 0;
}

TEST(HeldPortsTest, AllDiffer) {
  const absl::StatusOr<HeldPorts> held = HeldPorts::Take(111);
  ASSERT_OK(held);
  const std::set<int> different(held->ports().begin(), held->ports().end());
  EXPECT_EQ(different.size(), 111u);
  EXPECT_GT(*different.begin(), 0);
}

TEST(HeldPortsTest, OnlyWhoReusesThemCanListen) {
  const absl::StatusOr<HeldPorts> held = HeldPorts::Take(1);
  ASSERT_OK(held);
  const int port = held->ports()[0];
  EXPECT_FALSE(CanListen(port, 0));
  // And again, as after a restart.
  EXPECT_TRUE(CanListen(port, 1));
  EXPECT_TRUE(CanListen(port, 1));
  EXPECT_FALSE(CanListen(port, 0));
}

TEST(HeldPortsTest, MayOutliveThisProgram) {
  const int fd = dup(STDIN_FILENO);
  close(fd);
  absl::StatusOr<HeldPorts> held = HeldPorts::Take(1);
  ASSERT_OK(held);
  // The lowest descriptor that was free.
  EXPECT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
  held->KeepThroughExec();
  EXPECT_EQ(fcntl(fd, F_GETFD), 0);
}

TEST(HeldPortsTest, AreFreeAfterwards) {
  int port = 0;
  {
    const absl::StatusOr<HeldPorts> held = HeldPorts::Take(1);
    ASSERT_OK(held);
    port = held->ports()[0];
  }
  EXPECT_TRUE(CanListen(port, 0));
}

}  // namespace
}  // namespace capstan

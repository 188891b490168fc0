#include "launch/security/local_address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "launch/system/file_descriptor.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using testing::StatusIs;

TEST(LocalAddressTest, LoopbackAndAnyAreLocal) {
  EXPECT_TRUE(IsLocalNumber("127.0.0.1"));
  EXPECT_TRUE(IsLocalNumber("::1"));
  EXPECT_TRUE(IsLocalNumber("0.0.0.0"));
}

TEST(LocalAddressTest, OthersAreNot) {
  // Reserved for documentation (RFC 5737): no machine has it.
  EXPECT_FALSE(IsLocalNumber("192.0.2.1"));
  EXPECT_FALSE(IsLocalNumber("node4"));
}

TEST(LocalAddressTest, PortIsTakenWhileSomebodyListens) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(listener.get(), generic, size), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  ASSERT_EQ(::getsockname(listener.get(), generic, &size), 0);
  const int port = ntohs(address.sin_port);
  EXPECT_THAT(TryPort("127.0.0.1", port),
              StatusIs(absl::StatusCode::kAlreadyExists));
  listener.Close();
  EXPECT_OK(TryPort("127.0.0.1", port));
}

TEST(LocalAddressTest, AddressOfAnotherMachine) {
  EXPECT_THAT(TryPort("192.0.2.1", 7077),
              StatusIs(absl::StatusCode::kUnavailable));
}

}  // namespace
}  // namespace capstan

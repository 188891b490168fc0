#include "transport/tcp/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::Field;
using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::StatusIs;

auto Is(const char* host, const char* port) {
  return IsOkAndHolds(
      AllOf(Field(&HostPort::host, host), Field(&HostPort::port, port)));
}

TEST(AddressTest, HostAndPort) {
  EXPECT_THAT(ParseHostPort("127.0.0.1:7000"), Is("127.0.0.1", "7000"));
  EXPECT_THAT(ParseHostPort("node-3.cluster:0"), Is("node-3.cluster", "0"));
  EXPECT_THAT(ParseHostPort("[::1]:65535"), Is("::1", "65535"));
}

TEST(AddressTest, MistakesAreNamed) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"localhost", "no port"},     {":7000", "no host"},
      {"host:", "is not a port"},   {"host:65536", "is not a port"},
      {"host:-1", "is not a port"}, {"host:7x", "is not a port"},
      {"::1:7000", "brackets"},     {"", "no port"},
  };
  for (const auto& [text, message] : mistakes) {
    EXPECT_THAT(ParseHostPort(text),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(message), HasSubstr(text))));
  }
}

TEST(AddressTest, UnixPaths) {
  EXPECT_TRUE(IsUnixAddress("unix:/tmp/x"));
  EXPECT_FALSE(IsUnixAddress("host:1"));
  EXPECT_THAT(ParseUnixPath("unix:/tmp/x"), IsOkAndHolds("/tmp/x"));
  EXPECT_THAT(ParseUnixPath("unix:"),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ParseUnixPath("unix:/" + std::string(108, 'x')),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("kernel allows 107")));
}

}  // namespace
}  // namespace capstan

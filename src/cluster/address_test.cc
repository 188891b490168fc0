#include "cluster/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "cluster/mistake_test.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::capstan::testing::Mistake;
using ::capstan::testing::MistakeName;
using ::capstan::testing::Reports;

TEST(AddressTest, AcceptsEveryForm) {
  for (const char* address :
       {"localhost:1", "10.0.0.1:7077", "node-01.rack_2.example.com:65535",
        "[::1]:7077", "[fe80::1%eth0]:80", "[::ffff:10.0.0.1]:80",
        "unix:/run/capstan/ps0", "inproc:worker0", "NODE:007"}) {
    EXPECT_OK(ValidateAddress(address)) << address;
  }
  EXPECT_OK(ValidateAddress("unix:/" + std::string(106, 'x')));
  EXPECT_OK(ValidateAddress(std::string(253, 'h') + ":1"));
}

class BadAddressTest : public ::testing::TestWithParam<Mistake<std::string>> {};

TEST_P(BadAddressTest, SaysWhatIsWrong) {
  EXPECT_THAT(ValidateAddress(GetParam().input), Reports(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadAddressTest,
    ::testing::ValuesIn(std::vector<Mistake<std::string>>{
        {"Empty", "", {"\"\"", "write host:port"}},
        {"NoPort", "host", {"\"host\"", "no port; write host:port"}},
        {"NoPortV6", "[::1]", {"\"[::1]\"", "no port"}},
        {"NoHost", ":80", {"\":80\"", "no host; write host:port"}},
        {"EmptyPort", "host:", {"\"\" is not a port", "from 1 to 65535"}},
        {"PortText", "host:http", {"\"http\" is not a port"}},
        {"PortZero", "host:0", {"\"host:0\"", "port 0", "fixed port"}},
        {"PortZeros", "host:000", {"port 0"}},
        {"PortTooLarge", "host:65536", {"\"65536\" is not a port"}},
        {"PortNegative", "host:-1", {"\"-1\" is not a port"}},
        {"PortSigned", "host:+1", {"\"+1\" is not a port"}},
        {"BareV6", "fe80::1:80", {"in brackets, as [::1]:7077"}},
        {"BadV6", "[12345::]:80", {"not an IPv6 address"}},
        {"EmptyV6", "[]:80", {"not an IPv6 address"}},
        {"OpenBracket", "[::1:80", {"in brackets"}},
        {"Scheme", "grpc://host:80", {"without a scheme"}},
        {"Blank", "host :80", {"\"host :80\"", "blank"}},
        {"LeadingBlank", " host:80", {"blank"}},
        {"LineFeed", "host:80\nI forged", {"\\nI forged", "unprintable"}},
        {"NotAscii", "h\xc3\xb6st:80", {"unprintable"}},
        {"Slash", "host/x:80", {"a character that no host name has"}},
        {"LongHost", std::string(254, 'h') + ":80", {"longer than 253"}},
        {"RelativeUnix", "unix:run/x", {"absolute path"}},
        {"EmptyUnix", "unix:", {"absolute path"}},
        {"LongUnix",
         "unix:/" + std::string(107, 'x'),
         {"108 bytes", "allows 107", "shorter"}},
        {"EmptyInproc", "inproc:", {"no name; write inproc:name"}},
    }),
    MistakeName());

RC_GTEST_PROP(AddressProperty, AnyBytesAreAcceptedOrExplainedOnOneLine,
              (const std::string& text)) {
  const absl::Status status = ValidateAddress(text);
  if (status.ok()) return;
  RC_ASSERT(status.code() == absl::StatusCode::kInvalidArgument);
  RC_ASSERT(std::string(status.message()).find('\n') == std::string::npos);
}

TEST(CanonicalAddressTest, IgnoresSpelling) {
  EXPECT_EQ(CanonicalAddress("Node-1:0080"), "node-1:80");
  EXPECT_EQ(CanonicalAddress("[FE80::1]:7077"), "[fe80::1]:7077");
  EXPECT_EQ(CanonicalAddress("unix:/Run/X"), "unix:/Run/X");
  EXPECT_EQ(CanonicalAddress("inproc:Ps0"), "inproc:Ps0");
}

}  // namespace
}  // namespace capstan

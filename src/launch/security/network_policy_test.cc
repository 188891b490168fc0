#include "launch/security/network_policy.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "testing/status_matchers.h"

namespace capstan {
namespace {

using absl::StatusCode::kFailedPrecondition;
using absl::StatusCode::kInvalidArgument;
using absl::StatusCode::kUnavailable;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOkAndHolds;
using ::testing::Not;
using testing::StatusIs;

constexpr NetworkPolicy kPlain = {};
constexpr NetworkPolicy kTls = {.tls = true, .insecure_network = false};
constexpr NetworkPolicy kInsecure = {.tls = false, .insecure_network = true};

// Knows only this test's names.
absl::StatusOr<std::vector<std::string>> LookUp(const std::string& host) {
  using Numbers = std::vector<std::string>;
  if (host == "here") return Numbers{"127.0.0.1", "::1"};
  if (host == "there") return Numbers{"10.0.0.4"};
  if (host == "both") return Numbers{"127.0.1.1", "10.0.0.4"};
  if (host == "none") return Numbers{};
  return absl::UnavailableError("host '" + host + "' cannot be looked up");
}

absl::StatusOr<std::string> Check(const std::string& address,
                                  const NetworkPolicy& policy) {
  return CheckListen(address, policy, LookUp);
}

class LocalTest : public ::testing::TestWithParam<const char*> {};

TEST_P(LocalTest, MayListenPlainAndWithoutWarning) {
  EXPECT_THAT(Check(GetParam(), kPlain), IsOkAndHolds(""));
  EXPECT_THAT(Check(GetParam(), kTls), IsOkAndHolds(""));
  EXPECT_THAT(Check(GetParam(), kInsecure), IsOkAndHolds(""));
}

INSTANTIATE_TEST_SUITE_P(
    NetworkPolicy, LocalTest,
    ::testing::Values("127.0.0.1:7077", "127.0.0.1:0", "127.255.0.9:7077",
                      "[::1]:7077", "[0:0:0:0:0:0:0:1]:7077",
                      "[::ffff:127.0.0.1]:7077", "[::ffff:7f00:1]:7077",
                      "here:7077", "unix:/run/capstan/ps0", "inproc:ps0"));

class OpenTest : public ::testing::TestWithParam<const char*> {};

TEST_P(OpenTest, MayNotListenPlain) {
  EXPECT_THAT(
      Check(GetParam(), kPlain),
      StatusIs(kFailedPrecondition,
               AllOf(HasSubstr(GetParam()), HasSubstr("--tls DIR"),
                     HasSubstr("capstan certs DIR"),
                     HasSubstr("--insecure-network"), Not(HasSubstr("\n")))));
}

TEST_P(OpenTest, MayListenWithTls) {
  EXPECT_THAT(Check(GetParam(), kTls), IsOkAndHolds(""));
  EXPECT_THAT(Check(GetParam(), {.tls = true, .insecure_network = true}),
              IsOkAndHolds(""));
}

TEST_P(OpenTest, MayListenInsecurelyWithAWarning) {
  EXPECT_THAT(Check(GetParam(), kInsecure),
              IsOkAndHolds(AllOf(HasSubstr(GetParam()),
                                 HasSubstr("nothing is encrypted"),
                                 Not(HasSubstr("\n")))));
}

INSTANTIATE_TEST_SUITE_P(
    NetworkPolicy, OpenTest,
    ::testing::Values("10.0.0.4:7077", "128.0.0.1:7077", "126.255.255.255:7077",
                      "0.0.0.0:7077", "[::]:7077", "[::2]:7077",
                      "[fe80::1%eth0]:7077", "[::ffff:10.0.0.4]:7077",
                      "[::ffff:0.0.0.0]:7077",
                      // Deprecated, and not what the kernel calls loopback.
                      "[::127.0.0.1]:7077", "there:7077", "both:7077",
                      "none:7077"));

TEST(NetworkPolicyTest, ANameThatNobodyKnowsIsAnErrorWhereItMatters) {
  EXPECT_THAT(Check("nowhere:1", kPlain),
              StatusIs(kUnavailable, HasSubstr("'nowhere'")));
  EXPECT_THAT(Check("nowhere:1", kTls), IsOkAndHolds(""));
  EXPECT_THAT(Check("nowhere:1", kInsecure), IsOkAndHolds(Not(IsEmpty())));
}

TEST(NetworkPolicyTest, WhatIsNoAddressIsRefused) {
  for (const NetworkPolicy& policy : {kPlain, kTls, kInsecure}) {
    for (const char* address :
         {"", "7077", "127.0.0.1", "::1:7077", ":7077", "127.0.0.1:x"}) {
      EXPECT_THAT(Check(address, policy), StatusIs(kInvalidArgument));
    }
  }
}

TEST(NetworkPolicyTest, OnlyNumbersAreLoopback) {
  for (const char* text : {"", "localhost", "127.0.0.1:1", "127.1", "[::1]"}) {
    EXPECT_FALSE(IsLoopback(text)) << text;
  }
}

TEST(NetworkPolicyTest, TheSystemKnowsItsOwnName) {
  const absl::StatusOr<std::vector<std::string>> numbers =
      LookUpHost("localhost");
  ASSERT_OK(numbers);
  EXPECT_THAT(*numbers, AllOf(Not(IsEmpty()), Each(Not(IsEmpty()))));
  EXPECT_THAT(CheckListen("localhost:0", kPlain), IsOkAndHolds(""));
}

TEST(NetworkPolicyTest, TheSystemTakesShortNumbersForWhatTheyAre) {
  // inet_pton rejects these as numbers, but listening on them resolves them.
  EXPECT_THAT(LookUpHost("127.1"), IsOkAndHolds(Contains("127.0.0.1")));
  EXPECT_THAT(CheckListen("127.1:0", kPlain), IsOkAndHolds(""));
  EXPECT_THAT(CheckListen("0:0", kPlain), StatusIs(kFailedPrecondition));
}

TEST(NetworkPolicyTest, TheSystemSaysWhichNameItDoesNotKnow) {
  EXPECT_THAT(LookUpHost("no such host"),
              StatusIs(kUnavailable, HasSubstr("'no such host'")));
}

}  // namespace
}  // namespace capstan

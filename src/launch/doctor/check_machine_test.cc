#include "launch/doctor/check_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capstan/version.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(CheckMachineTest, GoodOne) {
  MachineFacts facts;
  facts.kernel = "Linux 6.1";
  facts.cores = 2;
  facts.cpu = {.avx2_and_fma = true};
  facts.huge_pages = "madvise";
  const Findings findings = CheckMachine(facts);
  ASSERT_THAT(findings, SizeIs(3));
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.level, FindingLevel::kOk) << finding.what;
  }
  EXPECT_EQ(findings[0].what,
            "version: capstan " + std::string(Version()) + ", Linux 6.1");
  EXPECT_EQ(findings[1].what, "CPU: 2 cores, AVX2");
  EXPECT_EQ(findings[2].what, "huge pages: madvise");
}

TEST(CheckMachineTest, WhatIsNotKnownIsLeftOut) {
  EXPECT_THAT(CheckMachine(MachineFacts()), SizeIs(1));
}

TEST(CheckMachineTest, NoHugePages) {
  MachineFacts facts;
  facts.huge_pages = "never";
  const Findings findings = CheckMachine(facts);
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[1].level, FindingLevel::kWarning);
  EXPECT_THAT(findings[1].remedy, HasSubstr("echo madvise"));
}

TEST(CheckLoopbackTest, GoodOne) {
  LoopbackFacts facts;
  facts.round_trip = std::chrono::microseconds(12);
  facts.host = "node1";
  const Findings findings = CheckLoopback(facts);
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].level, FindingLevel::kOk);
  EXPECT_THAT(findings[0].what, HasSubstr("in 12 us"));
  EXPECT_EQ(findings[1],
            (Finding{FindingLevel::kOk, "host: node1 can be looked up"}));
}

TEST(CheckLoopbackTest, BadOne) {
  LoopbackFacts facts;
  facts.status = absl::UnavailableError("connect: refused");
  facts.host = "node1";
  facts.host_status = absl::NotFoundError("unknown");
  Findings findings = CheckLoopback(facts);
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].level, FindingLevel::kProblem);
  EXPECT_THAT(findings[0].what, HasSubstr("connect: refused"));
  EXPECT_EQ(findings[1].level, FindingLevel::kWarning);
  EXPECT_THAT(findings[1].remedy, HasSubstr("/etc/hosts"));
  facts.status = absl::OkStatus();
  facts.round_trip = std::chrono::milliseconds(3);
  findings = CheckLoopback(facts);
  EXPECT_EQ(findings[0].level, FindingLevel::kWarning);
}

TEST(ProbeLoopbackTest, ThisMachineHasOne) {
  const LoopbackFacts facts = ProbeLoopback();
  EXPECT_TRUE(facts.status.ok()) << facts.status.message();
  EXPECT_GT(facts.round_trip, Duration::zero());
  EXPECT_NE(facts.host, "");
}

}  // namespace
}  // namespace capstan

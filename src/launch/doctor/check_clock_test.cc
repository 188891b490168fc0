#include "launch/doctor/check_clock.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

TEST(CheckClockTest, UnknownIsNotMentioned) {
  EXPECT_TRUE(CheckClock({}).empty());
}

TEST(CheckClockTest, SynchronisedIsWell) {
  MachineFacts facts;
  facts.clock_is_synchronised = true;
  const Findings findings = CheckClock(facts);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].level, FindingLevel::kOk);
}

TEST(CheckClockTest, NotSynchronisedIsAWarningOnly) {
  MachineFacts facts;
  facts.clock_is_synchronised = false;
  const Findings findings = CheckClock(facts);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].level, FindingLevel::kWarning);
  EXPECT_NE(findings[0].remedy, "");
}

}  // namespace
}  // namespace capstan

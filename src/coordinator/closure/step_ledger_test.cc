#include "coordinator/closure/step_ledger.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <vector>

namespace capstan {
namespace {

TEST(StepLedgerTest, TheWatermarkIsBelowTheFirstThatIsNotOver) {
  StepLedger ledger;
  EXPECT_EQ(ledger.Begin(), 1u);
  EXPECT_EQ(ledger.Reserve(3), 2u);
  EXPECT_EQ(ledger.Begin(), 5u);
  EXPECT_EQ(ledger.last(), 5u);
  ledger.End(2);
  ledger.End(4);
  EXPECT_EQ(ledger.watermark(), 0u);
  EXPECT_FALSE(ledger.IsOver(1));
  EXPECT_TRUE(ledger.IsOver(2));
  ledger.End(1);
  EXPECT_EQ(ledger.watermark(), 2u);
  ledger.End(3);
  EXPECT_EQ(ledger.watermark(), 4u);
  EXPECT_FALSE(ledger.IsOver(5));
  EXPECT_FALSE(ledger.IsOver(6));
}

TEST(StepLedgerTest, WhatWasNeverBegunAndWhatIsOverCanEndAgain) {
  StepLedger ledger;
  ledger.Begin();
  ledger.End(7);
  EXPECT_EQ(ledger.last(), 1u);
  ledger.End(1);
  ledger.End(1);
  EXPECT_EQ(ledger.watermark(), 1u);
  EXPECT_EQ(ledger.Begin(), 2u);
}

TEST(StepLedgerTest, AfterResumeAllIsOverButTheBlocks) {
  StepLedger ledger;
  const std::vector<StepBlock> blocks = {{.first = 3, .count = 4},
                                         {.first = 9, .count = 2}};
  ledger.Resume(4, 12, blocks);
  EXPECT_EQ(ledger.watermark(), 4u);
  EXPECT_EQ(ledger.last(), 12u);
  // Steps 3 and 4 of the first block have ended already.
  for (const uint64_t step : {3, 4, 7, 8, 11, 12}) {
    EXPECT_TRUE(ledger.IsOver(step)) << step;
  }
  for (const uint64_t step : {5, 6, 9, 10}) {
    EXPECT_FALSE(ledger.IsOver(step)) << step;
  }
  ledger.End(5);
  ledger.End(6);
  EXPECT_EQ(ledger.watermark(), 8u);
  EXPECT_EQ(ledger.Begin(), 13u);
}

TEST(StepLedgerTest, ABlockMayBeLongerThanWhatWasBegun) {
  StepLedger ledger;
  const std::vector<StepBlock> blocks = {{.first = 6, .count = 5}};
  ledger.Resume(5, 7, blocks);
  EXPECT_EQ(ledger.last(), 10u);
  EXPECT_EQ(ledger.Begin(), 11u);
}

TEST(StepLedgerTest, ResumeWithoutBlocksIsOverToTheLast) {
  StepLedger ledger;
  ledger.Resume(2, 9, {});
  EXPECT_EQ(ledger.watermark(), 9u);
  // A server may have been told of more steps than it has seen.
  ledger.Resume(9, 2, {});
  EXPECT_EQ(ledger.watermark(), 9u);
  EXPECT_EQ(ledger.Begin(), 10u);
}

RC_GTEST_PROP(StepLedgerTest, IsThatOfASet, ()) {
  StepLedger ledger;
  std::set<uint64_t> open;
  const int actions = *rc::gen::inRange(1, 100);
  for (int i = 0; i < actions; ++i) {
    if (open.empty() || *rc::gen::arbitrary<bool>()) {
      const auto count = *rc::gen::inRange<uint64_t>(1, 5);
      const uint64_t first = ledger.Reserve(count);
      for (uint64_t step = first; step < first + count; ++step) {
        open.insert(step);
      }
    } else {
      const uint64_t step = *rc::gen::elementOf(open);
      ledger.End(step);
      open.erase(step);
    }
    RC_ASSERT(ledger.watermark() ==
              (open.empty() ? ledger.last() : *open.begin() - 1));
    for (uint64_t step = 1; step <= ledger.last(); ++step) {
      RC_ASSERT(ledger.IsOver(step) == !open.contains(step));
    }
  }
}

}  // namespace
}  // namespace capstan

#include "coordinator/closure/key_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::IsOkAndHolds;
using testing::StatusIs;
using State = KeyLedger::State;

TEST(CompleteKeysTest, AreReadAsTheyWereWritten) {
  const std::vector<CompleteKeys> all = {
      {},
      {.below = 7, .above = {{9, 9}, {11, 20}}},
      {.below = 1'000'000, .above = {{1'000'001, 1'000'002}}},
      {.restoring = true}};
  for (const CompleteKeys& keys : all) {
    EXPECT_THAT(DecodeCompleteKeys(EncodeCompleteKeys(keys)),
                IsOkAndHolds(keys));
  }
}

TEST(CompleteKeysTest, WhatIsNoneIsRefused) {
  for (const char* text :
       {"", "x", "-1", "restoring", "7 9", "7 9-8", "7 7-8", "7 9-9 10-10",
        "7 9-", "7 9-99999", "18446744073709551615", "7  9-9", "7 9-9 "}) {
    EXPECT_THAT(DecodeCompleteKeys(text), StatusIs(absl::StatusCode::kDataLoss))
        << text;
  }
}

// Numbers keys up to `key`, from step `first` on, and tells the servers.
void Number(KeyLedger& ledger, uint64_t key, uint64_t first) {
  EXPECT_EQ(ledger.Look(key), State::kUnnumbered);
  EXPECT_THAT(ledger.Number({.first = first, .count = ledger.Missing(key)}),
              IsEmpty());
  EXPECT_EQ(ledger.Look(key), State::kUnnumbered) << "nobody was told";
  EXPECT_EQ(ledger.Missing(key), 0u);
  ledger.Published(ledger.version());
  EXPECT_EQ(ledger.Look(key), State::kFree);
}

TEST(KeyLedgerTest, AKeyHasTheSameStepUntilItIsComplete) {
  KeyLedger ledger;
  EXPECT_FALSE(ledger.used());
  Number(ledger, 0, 5);
  EXPECT_EQ(ledger.Schedule(0), 5u);
  EXPECT_EQ(ledger.Look(0), State::kScheduled);
  ledger.Begin(0);
  ledger.End(0, false);
  EXPECT_EQ(ledger.Look(0), State::kFree);
  EXPECT_EQ(ledger.FirstPartial(), 0u);
  EXPECT_EQ(ledger.Schedule(0), 5u);
  EXPECT_EQ(ledger.FirstPartial(), KeyLedger::kNone);
  EXPECT_EQ(ledger.first_incomplete(), 0u);
  ledger.End(0, true);
  EXPECT_EQ(ledger.Look(0), State::kComplete);
  EXPECT_EQ(ledger.first_incomplete(), 1u);
  EXPECT_TRUE(ledger.used());
}

TEST(KeyLedgerTest, TheRecordHasWhatIsCompleteAndWhatIsNumbered) {
  KeyLedger ledger;
  Number(ledger, 0, 10);
  const StepBlock block = {.first = 10, .count = KeyLedger::kChunk};
  for (const uint64_t key : {0, 1, 2, 3, 4, 5}) ledger.Schedule(key);
  for (const uint64_t key : {0, 1, 3, 5}) ledger.End(key, true);
  EXPECT_EQ(ledger.complete(),
            (CompleteKeys{.below = 2, .above = {{3, 3}, {5, 5}}}));
  EXPECT_EQ(ledger.open_blocks(),
            (std::map<std::string, KeyLedger::OpenBlock>{
                {"capstan/steps/0", {.block = block, .over = 11}}}));
  ledger.End(2, true);
  EXPECT_EQ(ledger.complete(), (CompleteKeys{.below = 4, .above = {{5, 5}}}));
  EXPECT_EQ(ledger.open_blocks().at("capstan/steps/0").over, 13u);
}

TEST(KeyLedgerTest, KeysThatAreTooFarAheadWait) {
  KeyLedger ledger;
  EXPECT_EQ(ledger.Look(KeyLedger::kWindow), State::kTooFar);
  EXPECT_EQ(ledger.Look(UINT64_MAX), State::kTooFar);
  Number(ledger, KeyLedger::kWindow - 1, 1);
  ledger.Schedule(0);
  ledger.End(0, true);
  EXPECT_EQ(ledger.Look(KeyLedger::kWindow), State::kUnnumbered);
}

TEST(KeyLedgerTest, NumbersThatNobodyUsesAreGivenUp) {
  KeyLedger ledger;
  Number(ledger, 0, 1);
  ledger.Schedule(0);
  ledger.Schedule(1);
  ledger.Begin(1);
  EXPECT_THAT(ledger.GiveUpNumbers(), IsEmpty()) << "some are scheduled";
  ledger.End(0, true);
  ledger.End(1, false);
  EXPECT_EQ(ledger.GiveUpNumbers().size(), KeyLedger::kChunk - 2);
  EXPECT_EQ(ledger.open_blocks().at("capstan/steps/0").block,
            (StepBlock{.first = 1, .count = 2}));
  EXPECT_THAT(ledger.GiveUpNumbers(), IsEmpty());
  EXPECT_EQ(ledger.Look(1), State::kFree) << "it may have changed variables";
  // Later keys get other steps.
  Number(ledger, 2, 5000);
  EXPECT_EQ(ledger.Schedule(2), 5000u);
  EXPECT_EQ(ledger.Schedule(1), 2u);
  ledger.End(1, true);
  ledger.End(2, true);
  ledger.GiveUpNumbers();
  EXPECT_THAT(ledger.open_blocks(), IsEmpty());
  EXPECT_EQ(ledger.complete(), (CompleteKeys{.below = 3}));
}

TEST(KeyLedgerTest, ASkippedKeyIsComplete) {
  KeyLedger ledger;
  EXPECT_EQ(ledger.Skip(0), 0u) << "it has no step";
  EXPECT_EQ(ledger.Skip(2), 0u);
  EXPECT_EQ(ledger.complete(), (CompleteKeys{.below = 1, .above = {{2, 2}}}));
  EXPECT_THAT(ledger.Number({.first = 7, .count = ledger.Missing(1)}),
              ElementsAre(8));
  ledger.Published(ledger.version());
  EXPECT_EQ(ledger.Skip(1), 7u);
  EXPECT_EQ(ledger.first_incomplete(), 3u);
}

TEST(KeyLedgerTest, AnotherLifeHasTheSameSteps) {
  KeyLedger before;
  Number(before, 0, 1);
  for (uint64_t key = 0; key < 6; ++key) before.Schedule(key);
  for (const uint64_t key : {0, 1, 4}) before.End(key, true);
  std::map<std::string, StepBlock> blocks = {
      {"other", {.first = 9000, .count = 3}}};
  for (const auto& [name, open] : before.open_blocks()) {
    blocks[name] = open.block;
  }
  KeyLedger after;
  const absl::StatusOr<std::vector<uint64_t>> over =
      after.Load(before.complete(), blocks, /*last=*/5);
  ASSERT_OK(over);
  EXPECT_THAT(*over, ElementsAre(1, 2, 5));
  EXPECT_EQ(after.complete(), before.complete());
  EXPECT_EQ(after.open_blocks(), before.open_blocks());
  EXPECT_EQ(after.FirstPartial(), 2u);
  EXPECT_TRUE(after.begun(3));
  EXPECT_FALSE(after.begun(5)) << "no server has heard of its step";
  EXPECT_EQ(after.Schedule(2), 3u);
  EXPECT_EQ(after.Schedule(5), 6u);
}

TEST(KeyLedgerTest, ARecordThatMakesNoSenseIsRefused) {
  KeyLedger ledger;
  for (const auto& [name, block] : std::map<std::string, StepBlock>{
           {"capstan/steps/x", {.first = 1, .count = 1}},
           {"capstan/steps/99999", {.first = 1, .count = 1}},
           {"capstan/steps/18446744073709551615", {.first = 1, .count = 1}},
           {"capstan/steps/0", {.first = 1, .count = 1}}}) {
    EXPECT_THAT(ledger.Load({.below = 1}, {{name, block}}, 0),
                StatusIs(absl::StatusCode::kDataLoss))
        << name;
  }
}

TEST(KeyLedgerTest, AfterARollbackWhatIsRepeatedIsANewStep) {
  KeyLedger ledger;
  Number(ledger, 0, 1);
  for (uint64_t key = 0; key < 4; ++key) ledger.Schedule(key);
  for (const uint64_t key : {0, 1, 3}) ledger.End(key, true);
  ledger.Begin(2);
  ledger.End(2, false);
  // All steps that had not ended have ended now.
  EXPECT_EQ(ledger.Reset({.restoring = true}).size(), KeyLedger::kChunk - 3);
  EXPECT_TRUE(ledger.restoring());
  EXPECT_THAT(ledger.open_blocks(), IsEmpty());
  EXPECT_THAT(ledger.Reset({.below = 1, .above = {{2, 2}}}), IsEmpty());
  EXPECT_FALSE(ledger.restoring());
  EXPECT_EQ(ledger.Look(0), State::kComplete);
  EXPECT_EQ(ledger.Look(2), State::kComplete);
  EXPECT_EQ(ledger.Look(3), State::kUnnumbered);
  EXPECT_THAT(ledger.Number({.first = 5000, .count = ledger.Missing(1)}),
              ElementsAre(5001));
  ledger.Published(ledger.version());
  EXPECT_EQ(ledger.Schedule(3), 5002u);
}

// Compares with a set of keys; coordinators are replaced at any moment.
RC_GTEST_PROP(KeyLedgerTest, IsASetOfKeys, ()) {
  KeyLedger ledger;
  std::set<uint64_t> complete;
  std::map<uint64_t, uint64_t> steps;  // of keys that are not complete
  uint64_t next_step = 1;
  for (int i = 0; i < 200; ++i) {
    const uint64_t key = ledger.first_incomplete() + *rc::gen::inRange(0, 12);
    const int what = *rc::gen::inRange(0, 10);
    if (what == 0) {
      std::map<std::string, StepBlock> blocks;
      for (const auto& [name, open] : ledger.open_blocks()) {
        blocks[name] = open.block;
      }
      const CompleteKeys keys = ledger.complete();
      ledger = KeyLedger();
      RC_ASSERT(ledger.Load(keys, blocks, next_step).ok());
      RC_ASSERT(ledger.complete() == keys);
    } else if (what == 1) {
      for (const uint64_t step : ledger.GiveUpNumbers()) {
        for (const auto& [begun, its] : steps) RC_ASSERT(its != step);
      }
    } else if (what == 2 && ledger.Look(key) != State::kScheduled) {
      ledger.Skip(key);
      complete.insert(key);
      steps.erase(key);
    } else if (ledger.Look(key) == State::kUnnumbered) {
      const uint64_t missing = ledger.Missing(key);
      if (missing > 0) ledger.Number({.first = next_step, .count = missing});
      next_step += missing + 5;
      ledger.Published(ledger.version());
    } else if (ledger.Look(key) == State::kFree) {
      const uint64_t step = ledger.Schedule(key);
      if (steps.contains(key)) RC_ASSERT(steps.at(key) == step);
      ledger.Begin(key);
      steps[key] = step;
      const bool well = *rc::gen::inRange(0, 2) == 0;
      ledger.End(key, well);
      if (well) {
        complete.insert(key);
        steps.erase(key);
      }
    }
    for (uint64_t other = 0; other < ledger.first_incomplete() + 20; ++other) {
      RC_ASSERT((ledger.Look(other) == State::kComplete) ==
                complete.contains(other));
    }
    // A block with a step that may run again has not ended.
    for (const auto& [repeated, step] : steps) {
      bool held = false;
      for (const auto& [name, open] : ledger.open_blocks()) {
        held |= step > open.over && step < open.block.end();
      }
      RC_ASSERT(held);
    }
  }
}

}  // namespace
}  // namespace capstan

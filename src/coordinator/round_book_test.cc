#include "coordinator/round_book.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

RoundRules SyncRules(uint32_t replicas, uint32_t backup = 0) {
  return {.replicas = replicas, .sync = true, .backup = backup};
}
RoundRules BoundedRules(uint32_t replicas, uint64_t bound) {
  return {.replicas = replicas, .bounded = true, .bound = bound};
}
RoundDecision Decision(uint64_t round, std::vector<uint32_t> replicas) {
  return {.round = round, .replicas = std::move(replicas)};
}

TEST(RoundBookTest, WithoutRulesThereAreNoRounds) {
  RoundBook book;
  EXPECT_EQ(book.Assign(1, 1), RoundPlace());
  EXPECT_TRUE(book.MayRun(0));
  EXPECT_EQ(book.NextCommit(), std::nullopt);
  EXPECT_EQ(book.NextTick(), std::nullopt);
  EXPECT_EQ(book.FirstOpenStep(), UINT64_MAX);
}

TEST(RoundBookTest, PlacesAreTakenInTheOrderOfTheSteps) {
  RoundBook book;
  ASSERT_TRUE(book.SetRules(SyncRules(2)));
  EXPECT_EQ(book.Assign(1, 1), (RoundPlace{1, 0}));
  EXPECT_EQ(book.Assign(2, 2), (RoundPlace{1, 1}));
  EXPECT_EQ(book.Assign(3, 3), (RoundPlace{2, 0}));
}

TEST(RoundBookTest, ARoundIsCommittedWhenAllHaveFinishedAndTheNextMayRunThen) {
  RoundBook book;
  ASSERT_TRUE(book.SetRules(SyncRules(2)));
  const RoundPlace a = book.Assign(1, 1);
  const RoundPlace b = book.Assign(2, 2);
  const RoundPlace c = book.Assign(3, 3);
  EXPECT_TRUE(book.MayRun(a.round));
  EXPECT_FALSE(book.MayRun(c.round));
  book.Finish(b);
  EXPECT_EQ(book.NextCommit(), std::nullopt);
  book.Finish(a);
  EXPECT_EQ(book.NextCommit(), Decision(1, {0, 1}));
  EXPECT_FALSE(book.MayRun(c.round));
  EXPECT_EQ(book.FirstOpenStep(), 1u);
  book.Committed(1);
  EXPECT_TRUE(book.MayRun(c.round));
  EXPECT_EQ(book.FirstOpenStep(), 3u);
}

TEST(RoundBookTest, ADecisionDoesNotChange) {
  RoundBook book;
  ASSERT_TRUE(book.SetRules(SyncRules(1, 1)));
  const RoundPlace a = book.Assign(1, 1);
  const RoundPlace b = book.Assign(2, 2);
  book.Finish(b);
  EXPECT_EQ(book.NextCommit(), Decision(1, {1}));
  book.Finish(a);
  EXPECT_EQ(book.NextCommit(), Decision(1, {1}));
  // Not even if all is given up: it may be on some of the servers.
  book.Abandon();
  EXPECT_EQ(book.NextCommit(), Decision(1, {1}));
}

TEST(RoundBookTest, BackupsAreNotWaitedFor) {
  RoundBook book;
  ASSERT_TRUE(book.SetRules(SyncRules(2, 1)));
  const RoundPlace a = book.Assign(1, 1);
  const RoundPlace b = book.Assign(2, 2);
  const RoundPlace c = book.Assign(3, 3);
  EXPECT_EQ(c.round, 1u);
  book.Finish(c);
  book.Finish(a);
  EXPECT_EQ(book.NextCommit(), Decision(1, {0, 2}));
  book.Committed(1);
  // Late.
  book.Finish(b);
  EXPECT_EQ(book.NextCommit(), std::nullopt);
}

// Else the places of steps to come would depend on how fast the first ones are,
// and a coordinator that takes over could not tell which round a step is of.
TEST(RoundBookTest, ARoundThatIsCommittedBeforeItIsFullKeepsItsPlaces) {
  RoundBook book;
  ASSERT_TRUE(book.SetRules(SyncRules(2, 1)));
  book.Finish(book.Assign(1, 1));
  book.Finish(book.Assign(2, 2));
  EXPECT_EQ(book.NextCommit(), Decision(1, {0, 1}));
  book.Committed(1);
  EXPECT_EQ(book.Assign(3, 3), (RoundPlace{1, 2}));
  EXPECT_EQ(book.FirstOpenStep(), UINT64_MAX);
  EXPECT_EQ(book.Assign(4, 4), (RoundPlace{2, 0}));
  EXPECT_EQ(book.FirstOpenStep(), 4u);
}

TEST(RoundBookTest, AClosedRoundIsCommittedWithThoseThatThereAre) {
  RoundBook book;
  ASSERT_TRUE(book.SetRules(SyncRules(3)));
  const RoundPlace a = book.Assign(1, 1);
  const RoundPlace b = book.Assign(2, 2);
  book.Close();
  EXPECT_EQ(book.NextCommit(), std::nullopt);
  book.Finish(a);
  book.Finish(b);
  EXPECT_EQ(book.NextCommit(), Decision(1, {0, 1}));
  EXPECT_EQ(book.Assign(3, 3), (RoundPlace{2, 0}));
}

TEST(RoundBookTest, AReplicaThatMissedItsRoundIsNotWaitedFor) {
  RoundBook book;
  ASSERT_TRUE(book.SetRules(SyncRules(2)));
  const RoundPlace a = book.Assign(1, 1);
  const RoundPlace b = book.Assign(2, 2);
  book.Miss(a);
  EXPECT_EQ(book.NextCommit(), std::nullopt);
  book.Finish(b);
  EXPECT_EQ(book.NextCommit(), Decision(1, {1}));
}

TEST(RoundBookTest, ARoundThatAllMissedIsGivenUp) {
  RoundBook book;
  ASSERT_TRUE(book.SetRules(SyncRules(1)));
  book.Miss(book.Assign(1, 1));
  EXPECT_EQ(book.NextCommit(), Decision(1, {}));
}

TEST(RoundBookTest, WhatIsAbandonedIsGivenUpInOrder) {
  RoundBook book;
  ASSERT_TRUE(book.SetRules(SyncRules(2)));
  book.Finish(book.Assign(1, 1));
  book.Assign(2, 2);
  book.Assign(3, 3);
  book.Abandon();
  EXPECT_EQ(book.NextCommit(), Decision(1, {}));
  book.Committed(1);
  EXPECT_EQ(book.NextCommit(), Decision(2, {}));
  book.Committed(2);
  EXPECT_EQ(book.NextCommit(), std::nullopt);
  EXPECT_EQ(book.Assign(4, 4), (RoundPlace{3, 0}));
  EXPECT_TRUE(book.MayRun(3));
}

TEST(RoundBookTest, ABoundedRoundMayRunWhenTheOthersAreNotTooFarBehind) {
  RoundBook book;
  ASSERT_TRUE(book.SetRules(BoundedRules(2, 1)));
  const RoundPlace a = book.Assign(1, 1);
  const RoundPlace b = book.Assign(2, 2);
  book.Assign(3, 3);
  book.Assign(4, 4);
  book.Assign(5, 5);
  EXPECT_TRUE(book.MayRun(2));
  EXPECT_FALSE(book.MayRun(3));
  book.Finish(a);
  EXPECT_EQ(book.NextTick(), Decision(1, {0}));
  book.Ticked(Decision(1, {0}));
  EXPECT_FALSE(book.MayRun(3));
  book.Finish(b);
  EXPECT_EQ(book.NextTick(), Decision(1, {1}));
  EXPECT_FALSE(book.MayRun(3));
  book.Ticked(Decision(1, {1}));
  EXPECT_TRUE(book.MayRun(3));
  EXPECT_EQ(book.NextCommit(), std::nullopt);
}

TEST(RoundBookTest, TicksThatComeMeanwhileAreNotLost) {
  RoundBook book;
  ASSERT_TRUE(book.SetRules(BoundedRules(2, 0)));
  const RoundPlace a = book.Assign(1, 1);
  const RoundPlace b = book.Assign(2, 2);
  book.Finish(a);
  const std::optional<RoundDecision> tick = book.NextTick();
  ASSERT_TRUE(tick);
  book.Finish(b);
  book.Ticked(*tick);
  EXPECT_EQ(book.NextTick(), Decision(1, {1}));
}

TEST(RoundBookTest, InAClosedBoundedRoundAllReplicasTick) {
  RoundBook book;
  ASSERT_TRUE(book.SetRules(BoundedRules(3, 0)));
  const RoundPlace a = book.Assign(1, 1);
  book.Close();
  book.Finish(a);
  EXPECT_EQ(book.NextTick(), Decision(1, {1, 2, 0}));
  book.Ticked(Decision(1, {1, 2, 0}));
  EXPECT_TRUE(book.MayRun(2));
}

TEST(RoundBookTest, RulesDoNotChangeOnceRoundsHaveBegun) {
  RoundBook book;
  ASSERT_TRUE(book.SetRules(SyncRules(2)));
  ASSERT_TRUE(book.SetRules(SyncRules(3)));
  book.Assign(1, 1);
  EXPECT_TRUE(book.SetRules(SyncRules(3)));
  EXPECT_FALSE(book.SetRules(SyncRules(2)));
}

TEST(RoundBookTest, ResumeAssignsAnewAndDoesNotWaitForWhatIsSettled) {
  RoundBook book;
  book.Resume(SyncRules(2), 5, 6);
  EXPECT_EQ(book.rules(), SyncRules(2));
  EXPECT_EQ(book.committed(), 6u);
  EXPECT_EQ(book.next_round(), 5u);
  // Rounds 5 and 6 are run again, in whatever order, and 7 with them.
  EXPECT_EQ(book.Assign(9, 1), (RoundPlace{5, 0}));
  EXPECT_EQ(book.Assign(10, 2), (RoundPlace{5, 1}));
  const RoundPlace b = book.Assign(11, 3);
  EXPECT_EQ(b, (RoundPlace{6, 0}));
  book.Assign(12, 4);
  EXPECT_EQ(book.FirstOpenStep(), UINT64_MAX);
  EXPECT_EQ(book.FirstOpenOrder(), UINT64_MAX);
  const RoundPlace c = book.Assign(13, 5);
  const RoundPlace d = book.Assign(14, 6);
  EXPECT_EQ(c, (RoundPlace{7, 0}));
  EXPECT_TRUE(book.MayRun(5));
  EXPECT_TRUE(book.MayRun(7));
  EXPECT_FALSE(book.MayRun(8));
  EXPECT_EQ(book.FirstOpenStep(), 13u);
  book.Finish(b);
  EXPECT_EQ(book.NextCommit(), std::nullopt);
  book.Finish(d);
  book.Finish(c);
  EXPECT_EQ(book.NextCommit(), Decision(7, {0, 1}));
  book.Committed(7);
  EXPECT_EQ(book.next_round(), 8u);
}

TEST(RoundBookTest, ResumeAtTheBeginningIsTheBeginning) {
  RoundBook book;
  ASSERT_TRUE(book.SetRules(SyncRules(1)));
  book.Finish(book.Assign(1, 1));
  ASSERT_TRUE(book.NextCommit());
  book.Committed(1);
  book.Resume(book.rules(), 1, 0);
  EXPECT_EQ(book.committed(), 0u);
  EXPECT_EQ(book.Assign(2, 2), (RoundPlace{1, 0}));
  EXPECT_TRUE(book.MayRun(1));
}

TEST(RoundBookTest, BoundedRoundsResumeToo) {
  RoundBook book;
  book.Resume(BoundedRules(1, 0), 4, 0);
  const RoundPlace a = book.Assign(1, 1);
  const RoundPlace b = book.Assign(2, 2);
  EXPECT_EQ(a, (RoundPlace{4, 0}));
  EXPECT_TRUE(book.MayRun(a.round));
  EXPECT_FALSE(book.MayRun(b.round));
  book.Finish(a);
  EXPECT_EQ(book.NextTick(), Decision(4, {0}));
  book.Ticked(Decision(4, {0}));
  EXPECT_TRUE(book.MayRun(b.round));
}

TEST(RoundBookTest, TheFirstOpenStepIsTheLowestWhateverTheOrder) {
  RoundBook book;
  ASSERT_TRUE(book.SetRules(SyncRules(2)));
  // Steps of a block were numbered before others that were scheduled first.
  const RoundPlace a = book.Assign(9, 1);
  const RoundPlace b = book.Assign(4, 2);
  book.Assign(3, 3);
  book.Assign(10, 4);
  book.Assign(5, 5);
  EXPECT_EQ(book.FirstOpenStep(), 3u);
  EXPECT_EQ(book.FirstOpenOrder(), 1u);
  book.Finish(a);
  book.Finish(b);
  ASSERT_EQ(book.NextCommit(), Decision(1, {0, 1}));
  book.Committed(1);
  EXPECT_EQ(book.FirstOpenStep(), 3u);
  EXPECT_EQ(book.FirstOpenOrder(), 3u);
}

TEST(RoundBookTest, NextRoundIsTheOneAfterThatWhichIsBeingFilled) {
  RoundBook book;
  EXPECT_EQ(book.next_round(), 0u);
  ASSERT_TRUE(book.SetRules(SyncRules(2)));
  EXPECT_EQ(book.next_round(), 1u);
  book.Assign(1, 1);
  EXPECT_EQ(book.next_round(), 2u);
  book.Close();
  EXPECT_EQ(book.next_round(), 2u);
  EXPECT_EQ(book.Assign(2, 2), (RoundPlace{2, 0}));
}

TEST(RoundBookTest, ALaterRoundIsNotClosed) {
  RoundBook book;
  ASSERT_TRUE(book.SetRules(SyncRules(2)));
  book.Assign(1, 1);
  book.Assign(2, 2);
  book.Assign(3, 3);
  book.CloseUpTo(1);
  EXPECT_EQ(book.Assign(4, 4), (RoundPlace{2, 1}));
  book.Assign(5, 5);
  book.CloseUpTo(3);
  EXPECT_EQ(book.Assign(6, 6), (RoundPlace{4, 0}));
}

}  // namespace
}  // namespace capstan

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
  EXPECT_EQ(book.Assign(1), RoundPlace());
  EXPECT_TRUE(book.MayRun(0));
  EXPECT_EQ(book.NextCommit(), std::nullopt);
  EXPECT_EQ(book.NextTick(), std::nullopt);
  EXPECT_EQ(book.FirstOpenStep(), UINT64_MAX);
}

TEST(RoundBookTest, PlacesAreTakenInTheOrderOfTheSteps) {
  RoundBook book;
  ASSERT_TRUE(book.SetRules(SyncRules(2)));
  EXPECT_EQ(book.Assign(1), (RoundPlace{1, 0}));
  EXPECT_EQ(book.Assign(2), (RoundPlace{1, 1}));
  EXPECT_EQ(book.Assign(3), (RoundPlace{2, 0}));
}

TEST(RoundBookTest, ARoundIsCommittedWhenAllHaveFinishedAndTheNextMayRunThen) {
  RoundBook book;
  ASSERT_TRUE(book.SetRules(SyncRules(2)));
  const RoundPlace a = book.Assign(1);
  const RoundPlace b = book.Assign(2);
  const RoundPlace c = book.Assign(3);
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
  const RoundPlace a = book.Assign(1);
  const RoundPlace b = book.Assign(2);
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
  const RoundPlace a = book.Assign(1);
  const RoundPlace b = book.Assign(2);
  const RoundPlace c = book.Assign(3);
  EXPECT_EQ(c.round, 1u);
  book.Finish(c);
  book.Finish(a);
  EXPECT_EQ(book.NextCommit(), Decision(1, {0, 2}));
  book.Committed(1);
  // Late.
  book.Finish(b);
  EXPECT_EQ(book.NextCommit(), std::nullopt);
}

TEST(RoundBookTest, AClosedRoundIsCommittedWithThoseThatThereAre) {
  RoundBook book;
  ASSERT_TRUE(book.SetRules(SyncRules(3)));
  const RoundPlace a = book.Assign(1);
  const RoundPlace b = book.Assign(2);
  book.Close();
  EXPECT_EQ(book.NextCommit(), std::nullopt);
  book.Finish(a);
  book.Finish(b);
  EXPECT_EQ(book.NextCommit(), Decision(1, {0, 1}));
  EXPECT_EQ(book.Assign(3), (RoundPlace{2, 0}));
}

TEST(RoundBookTest, AReplicaThatMissedItsRoundIsNotWaitedFor) {
  RoundBook book;
  ASSERT_TRUE(book.SetRules(SyncRules(2)));
  const RoundPlace a = book.Assign(1);
  const RoundPlace b = book.Assign(2);
  book.Miss(a);
  EXPECT_EQ(book.NextCommit(), std::nullopt);
  book.Finish(b);
  EXPECT_EQ(book.NextCommit(), Decision(1, {1}));
}

TEST(RoundBookTest, ARoundThatAllMissedIsGivenUp) {
  RoundBook book;
  ASSERT_TRUE(book.SetRules(SyncRules(1)));
  book.Miss(book.Assign(1));
  EXPECT_EQ(book.NextCommit(), Decision(1, {}));
}

TEST(RoundBookTest, WhatIsAbandonedIsGivenUpInOrder) {
  RoundBook book;
  ASSERT_TRUE(book.SetRules(SyncRules(2)));
  book.Finish(book.Assign(1));
  book.Assign(2);
  book.Assign(3);
  book.Abandon();
  EXPECT_EQ(book.NextCommit(), Decision(1, {}));
  book.Committed(1);
  EXPECT_EQ(book.NextCommit(), Decision(2, {}));
  book.Committed(2);
  EXPECT_EQ(book.NextCommit(), std::nullopt);
  EXPECT_EQ(book.Assign(4), (RoundPlace{3, 0}));
  EXPECT_TRUE(book.MayRun(3));
}

TEST(RoundBookTest, ABoundedRoundMayRunWhenTheOthersAreNotTooFarBehind) {
  RoundBook book;
  ASSERT_TRUE(book.SetRules(BoundedRules(2, 1)));
  const RoundPlace a = book.Assign(1);
  const RoundPlace b = book.Assign(2);
  book.Assign(3);
  book.Assign(4);
  book.Assign(5);
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
  const RoundPlace a = book.Assign(1);
  const RoundPlace b = book.Assign(2);
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
  const RoundPlace a = book.Assign(1);
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
  book.Assign(1);
  EXPECT_TRUE(book.SetRules(SyncRules(3)));
  EXPECT_FALSE(book.SetRules(SyncRules(2)));
}

}  // namespace
}  // namespace capstan

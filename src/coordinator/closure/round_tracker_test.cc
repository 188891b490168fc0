#include "coordinator/closure/round_tracker.h"

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

TEST(RoundTrackerTest, WithoutRulesThereAreNoRounds) {
  RoundTracker tracker;
  EXPECT_EQ(tracker.Assign(1, 1), RoundPlace());
  EXPECT_TRUE(tracker.MayRun(0));
  EXPECT_EQ(tracker.NextCommit(), std::nullopt);
  EXPECT_EQ(tracker.NextTick(), std::nullopt);
  EXPECT_EQ(tracker.FirstOpenStep(), UINT64_MAX);
}

TEST(RoundTrackerTest, PlacesAreTakenInTheOrderOfTheSteps) {
  RoundTracker tracker;
  ASSERT_TRUE(tracker.SetRules(SyncRules(2)));
  EXPECT_EQ(tracker.Assign(1, 1), (RoundPlace{1, 0}));
  EXPECT_EQ(tracker.Assign(2, 2), (RoundPlace{1, 1}));
  EXPECT_EQ(tracker.Assign(3, 3), (RoundPlace{2, 0}));
}

TEST(RoundTrackerTest,
     ARoundIsCommittedWhenAllHaveFinishedAndTheNextMayRunThen) {
  RoundTracker tracker;
  ASSERT_TRUE(tracker.SetRules(SyncRules(2)));
  const RoundPlace a = tracker.Assign(1, 1);
  const RoundPlace b = tracker.Assign(2, 2);
  const RoundPlace c = tracker.Assign(3, 3);
  EXPECT_TRUE(tracker.MayRun(a.round));
  EXPECT_FALSE(tracker.MayRun(c.round));
  tracker.Finish(b);
  EXPECT_EQ(tracker.NextCommit(), std::nullopt);
  tracker.Finish(a);
  EXPECT_EQ(tracker.NextCommit(), Decision(1, {0, 1}));
  EXPECT_FALSE(tracker.MayRun(c.round));
  EXPECT_EQ(tracker.FirstOpenStep(), 1u);
  tracker.Committed(1);
  EXPECT_TRUE(tracker.MayRun(c.round));
  EXPECT_EQ(tracker.FirstOpenStep(), 3u);
}

TEST(RoundTrackerTest, ADecisionDoesNotChange) {
  RoundTracker tracker;
  ASSERT_TRUE(tracker.SetRules(SyncRules(1, 1)));
  const RoundPlace a = tracker.Assign(1, 1);
  const RoundPlace b = tracker.Assign(2, 2);
  tracker.Finish(b);
  EXPECT_EQ(tracker.NextCommit(), Decision(1, {1}));
  tracker.Finish(a);
  EXPECT_EQ(tracker.NextCommit(), Decision(1, {1}));
  // Not even if everything is given up: some servers may have committed it.
  tracker.Abandon();
  EXPECT_EQ(tracker.NextCommit(), Decision(1, {1}));
}

TEST(RoundTrackerTest, BackupsAreNotWaitedFor) {
  RoundTracker tracker;
  ASSERT_TRUE(tracker.SetRules(SyncRules(2, 1)));
  const RoundPlace a = tracker.Assign(1, 1);
  const RoundPlace b = tracker.Assign(2, 2);
  const RoundPlace c = tracker.Assign(3, 3);
  EXPECT_EQ(c.round, 1u);
  tracker.Finish(c);
  tracker.Finish(a);
  EXPECT_EQ(tracker.NextCommit(), Decision(1, {0, 2}));
  tracker.Committed(1);
  // Late.
  tracker.Finish(b);
  EXPECT_EQ(tracker.NextCommit(), std::nullopt);
}

// Otherwise the places of later steps would depend on how fast the first ones
// are, and a coordinator that takes over could not tell the round of a step.
TEST(RoundTrackerTest, ARoundThatIsCommittedBeforeItIsFullKeepsItsPlaces) {
  RoundTracker tracker;
  ASSERT_TRUE(tracker.SetRules(SyncRules(2, 1)));
  tracker.Finish(tracker.Assign(1, 1));
  tracker.Finish(tracker.Assign(2, 2));
  EXPECT_EQ(tracker.NextCommit(), Decision(1, {0, 1}));
  tracker.Committed(1);
  EXPECT_EQ(tracker.Assign(3, 3), (RoundPlace{1, 2}));
  EXPECT_EQ(tracker.FirstOpenStep(), UINT64_MAX);
  EXPECT_EQ(tracker.Assign(4, 4), (RoundPlace{2, 0}));
  EXPECT_EQ(tracker.FirstOpenStep(), 4u);
}

TEST(RoundTrackerTest, AClosedRoundIsCommittedWithThoseThatThereAre) {
  RoundTracker tracker;
  ASSERT_TRUE(tracker.SetRules(SyncRules(3)));
  const RoundPlace a = tracker.Assign(1, 1);
  const RoundPlace b = tracker.Assign(2, 2);
  tracker.Close();
  EXPECT_EQ(tracker.NextCommit(), std::nullopt);
  tracker.Finish(a);
  tracker.Finish(b);
  EXPECT_EQ(tracker.NextCommit(), Decision(1, {0, 1}));
  EXPECT_EQ(tracker.Assign(3, 3), (RoundPlace{2, 0}));
}

TEST(RoundTrackerTest, AReplicaThatMissedItsRoundIsNotWaitedFor) {
  RoundTracker tracker;
  ASSERT_TRUE(tracker.SetRules(SyncRules(2)));
  const RoundPlace a = tracker.Assign(1, 1);
  const RoundPlace b = tracker.Assign(2, 2);
  tracker.Miss(a);
  EXPECT_EQ(tracker.NextCommit(), std::nullopt);
  tracker.Finish(b);
  EXPECT_EQ(tracker.NextCommit(), Decision(1, {1}));
}

TEST(RoundTrackerTest, ARoundThatAllMissedIsGivenUp) {
  RoundTracker tracker;
  ASSERT_TRUE(tracker.SetRules(SyncRules(1)));
  tracker.Miss(tracker.Assign(1, 1));
  EXPECT_EQ(tracker.NextCommit(), Decision(1, {}));
}

TEST(RoundTrackerTest, WhatIsAbandonedIsGivenUpInOrder) {
  RoundTracker tracker;
  ASSERT_TRUE(tracker.SetRules(SyncRules(2)));
  tracker.Finish(tracker.Assign(1, 1));
  tracker.Assign(2, 2);
  tracker.Assign(3, 3);
  tracker.Abandon();
  EXPECT_EQ(tracker.NextCommit(), Decision(1, {}));
  tracker.Committed(1);
  EXPECT_EQ(tracker.NextCommit(), Decision(2, {}));
  tracker.Committed(2);
  EXPECT_EQ(tracker.NextCommit(), std::nullopt);
  EXPECT_EQ(tracker.Assign(4, 4), (RoundPlace{3, 0}));
  EXPECT_TRUE(tracker.MayRun(3));
}

TEST(RoundTrackerTest, ABoundedRoundMayRunWhenTheOthersAreNotTooFarBehind) {
  RoundTracker tracker;
  ASSERT_TRUE(tracker.SetRules(BoundedRules(2, 1)));
  const RoundPlace a = tracker.Assign(1, 1);
  const RoundPlace b = tracker.Assign(2, 2);
  tracker.Assign(3, 3);
  tracker.Assign(4, 4);
  tracker.Assign(5, 5);
  EXPECT_TRUE(tracker.MayRun(2));
  EXPECT_FALSE(tracker.MayRun(3));
  tracker.Finish(a);
  EXPECT_EQ(tracker.NextTick(), Decision(1, {0}));
  tracker.Ticked(Decision(1, {0}));
  EXPECT_FALSE(tracker.MayRun(3));
  tracker.Finish(b);
  EXPECT_EQ(tracker.NextTick(), Decision(1, {1}));
  EXPECT_FALSE(tracker.MayRun(3));
  tracker.Ticked(Decision(1, {1}));
  EXPECT_TRUE(tracker.MayRun(3));
  EXPECT_EQ(tracker.NextCommit(), std::nullopt);
}

TEST(RoundTrackerTest, TicksThatComeMeanwhileAreNotLost) {
  RoundTracker tracker;
  ASSERT_TRUE(tracker.SetRules(BoundedRules(2, 0)));
  const RoundPlace a = tracker.Assign(1, 1);
  const RoundPlace b = tracker.Assign(2, 2);
  tracker.Finish(a);
  const std::optional<RoundDecision> tick = tracker.NextTick();
  ASSERT_TRUE(tick);
  tracker.Finish(b);
  tracker.Ticked(*tick);
  EXPECT_EQ(tracker.NextTick(), Decision(1, {1}));
}

TEST(RoundTrackerTest, InAClosedBoundedRoundAllReplicasTick) {
  RoundTracker tracker;
  ASSERT_TRUE(tracker.SetRules(BoundedRules(3, 0)));
  const RoundPlace a = tracker.Assign(1, 1);
  tracker.Close();
  tracker.Finish(a);
  EXPECT_EQ(tracker.NextTick(), Decision(1, {1, 2, 0}));
  tracker.Ticked(Decision(1, {1, 2, 0}));
  EXPECT_TRUE(tracker.MayRun(2));
}

TEST(RoundTrackerTest, RulesDoNotChangeOnceRoundsHaveBegun) {
  RoundTracker tracker;
  ASSERT_TRUE(tracker.SetRules(SyncRules(2)));
  ASSERT_TRUE(tracker.SetRules(SyncRules(3)));
  tracker.Assign(1, 1);
  EXPECT_TRUE(tracker.SetRules(SyncRules(3)));
  EXPECT_FALSE(tracker.SetRules(SyncRules(2)));
}

TEST(RoundTrackerTest, ResumeAssignsAnewAndDoesNotWaitForWhatIsSettled) {
  RoundTracker tracker;
  tracker.Resume(SyncRules(2), 5, 6);
  EXPECT_EQ(tracker.rules(), SyncRules(2));
  EXPECT_EQ(tracker.committed(), 6u);
  EXPECT_EQ(tracker.next_round(), 5u);
  // Rounds 5 and 6 run again, in any order, and 7 with them.
  EXPECT_EQ(tracker.Assign(9, 1), (RoundPlace{5, 0}));
  EXPECT_EQ(tracker.Assign(10, 2), (RoundPlace{5, 1}));
  const RoundPlace b = tracker.Assign(11, 3);
  EXPECT_EQ(b, (RoundPlace{6, 0}));
  tracker.Assign(12, 4);
  EXPECT_EQ(tracker.FirstOpenStep(), UINT64_MAX);
  EXPECT_EQ(tracker.FirstOpenOrder(), UINT64_MAX);
  const RoundPlace c = tracker.Assign(13, 5);
  const RoundPlace d = tracker.Assign(14, 6);
  EXPECT_EQ(c, (RoundPlace{7, 0}));
  EXPECT_TRUE(tracker.MayRun(5));
  EXPECT_TRUE(tracker.MayRun(7));
  EXPECT_FALSE(tracker.MayRun(8));
  EXPECT_EQ(tracker.FirstOpenStep(), 13u);
  tracker.Finish(b);
  EXPECT_EQ(tracker.NextCommit(), std::nullopt);
  tracker.Finish(d);
  tracker.Finish(c);
  EXPECT_EQ(tracker.NextCommit(), Decision(7, {0, 1}));
  tracker.Committed(7);
  EXPECT_EQ(tracker.next_round(), 8u);
}

TEST(RoundTrackerTest, ResumeAtTheBeginningIsTheBeginning) {
  RoundTracker tracker;
  ASSERT_TRUE(tracker.SetRules(SyncRules(1)));
  tracker.Finish(tracker.Assign(1, 1));
  ASSERT_TRUE(tracker.NextCommit());
  tracker.Committed(1);
  tracker.Resume(tracker.rules(), 1, 0);
  EXPECT_EQ(tracker.committed(), 0u);
  EXPECT_EQ(tracker.Assign(2, 2), (RoundPlace{1, 0}));
  EXPECT_TRUE(tracker.MayRun(1));
}

TEST(RoundTrackerTest, BoundedRoundsResumeToo) {
  RoundTracker tracker;
  tracker.Resume(BoundedRules(1, 0), 4, 0);
  const RoundPlace a = tracker.Assign(1, 1);
  const RoundPlace b = tracker.Assign(2, 2);
  EXPECT_EQ(a, (RoundPlace{4, 0}));
  EXPECT_TRUE(tracker.MayRun(a.round));
  EXPECT_FALSE(tracker.MayRun(b.round));
  tracker.Finish(a);
  EXPECT_EQ(tracker.NextTick(), Decision(4, {0}));
  tracker.Ticked(Decision(4, {0}));
  EXPECT_TRUE(tracker.MayRun(b.round));
}

TEST(RoundTrackerTest, TheFirstOpenStepIsTheLowestWhateverTheOrder) {
  RoundTracker tracker;
  ASSERT_TRUE(tracker.SetRules(SyncRules(2)));
  // Steps of a block were numbered before others that were scheduled first.
  const RoundPlace a = tracker.Assign(9, 1);
  const RoundPlace b = tracker.Assign(4, 2);
  tracker.Assign(3, 3);
  tracker.Assign(10, 4);
  tracker.Assign(5, 5);
  EXPECT_EQ(tracker.FirstOpenStep(), 3u);
  EXPECT_EQ(tracker.FirstOpenOrder(), 1u);
  tracker.Finish(a);
  tracker.Finish(b);
  ASSERT_EQ(tracker.NextCommit(), Decision(1, {0, 1}));
  tracker.Committed(1);
  EXPECT_EQ(tracker.FirstOpenStep(), 3u);
  EXPECT_EQ(tracker.FirstOpenOrder(), 3u);
}

TEST(RoundTrackerTest, NextRoundIsTheOneAfterThatWhichIsBeingFilled) {
  RoundTracker tracker;
  EXPECT_EQ(tracker.next_round(), 0u);
  ASSERT_TRUE(tracker.SetRules(SyncRules(2)));
  EXPECT_EQ(tracker.next_round(), 1u);
  tracker.Assign(1, 1);
  EXPECT_EQ(tracker.next_round(), 2u);
  tracker.Close();
  EXPECT_EQ(tracker.next_round(), 2u);
  EXPECT_EQ(tracker.Assign(2, 2), (RoundPlace{2, 0}));
}

TEST(RoundTrackerTest, ALaterRoundIsNotClosed) {
  RoundTracker tracker;
  ASSERT_TRUE(tracker.SetRules(SyncRules(2)));
  tracker.Assign(1, 1);
  tracker.Assign(2, 2);
  tracker.Assign(3, 3);
  tracker.CloseUpTo(1);
  EXPECT_EQ(tracker.Assign(4, 4), (RoundPlace{2, 1}));
  tracker.Assign(5, 5);
  tracker.CloseUpTo(3);
  EXPECT_EQ(tracker.Assign(6, 6), (RoundPlace{4, 0}));
}

}  // namespace
}  // namespace capstan

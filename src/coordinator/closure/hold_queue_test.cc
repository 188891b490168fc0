// The closure queue while it is held, with steps that were numbered in advance,
// and after taking over from another coordinator.
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "coordinator/closure/closure_queue_test.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using testing::ClosurePtr;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kEver;
using testing::NewClosure;
using testing::StatusIs;

constexpr Duration kNow = Duration::zero();

class HoldQueueTest : public ::testing::Test {
 protected:
  ClosurePtr Put(bool reads_only = false, uint64_t step = 0) {
    ClosurePtr closure = NewClosure(reads_only, step);
    EXPECT_OK(queue_.Put(closure));
    return closure;
  }
  void Finish(const ClosurePtr& closure) { queue_.Finish(closure, {}); }
  void UseRounds(uint32_t replicas) {
    ASSERT_TRUE(queue_.SetRules({.replicas = replicas, .sync = true}));
  }
  // What the dispatcher does; false if there is nothing to commit.
  bool Commit() {
    const std::optional<RoundDecision> decision = queue_.NextCommit();
    if (!decision) return false;
    queue_.Committed(decision->round);
    return true;
  }

  ClosureQueue queue_{ClosureQueueOptions()};
};

TEST_F(HoldQueueTest, WhileHeldNothingBeginsAndWhatRunsIsWaitedFor) {
  const ClosurePtr a = Put();
  const ClosurePtr b = Put();
  ASSERT_EQ(queue_.Take(), a);
  queue_.Hold();
  EXPECT_EQ(queue_.Take(), nullptr);
  EXPECT_THAT(queue_.AwaitQuiet(kNow),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       HasSubstr("1 function queued, 1 running: step 1")));
  auto quiet =
      std::async(std::launch::async, [&] { return queue_.AwaitQuiet(kEver); });
  Finish(a);
  EXPECT_OK(quiet.get());
  EXPECT_EQ(queue_.Take(), nullptr);
  queue_.Release();
  EXPECT_EQ(queue_.Take(), b);
}

TEST_F(HoldQueueTest, HoldsAreCounted) {
  const ClosurePtr a = Put();
  queue_.Hold();
  queue_.Hold();
  EXPECT_OK(queue_.AwaitQuiet(kNow));
  queue_.Release();
  EXPECT_EQ(queue_.Take(), nullptr);
  queue_.Release();
  EXPECT_EQ(queue_.Take(), a);
}

TEST_F(HoldQueueTest, ReleaseSaysThatThereIsWork) {
  int work = 0;
  ClosureQueue queue(ClosureQueueOptions{.on_work = [&] { ++work; }});
  ASSERT_OK(queue.Put(NewClosure(false, 0)));
  queue.Hold();
  EXPECT_EQ(queue.Take(), nullptr);
  const int before = work;
  queue.Release();
  EXPECT_EQ(work, before + 1);
}

TEST_F(HoldQueueTest, WhatIsGivenBackRunsWhileHeld) {
  const ClosurePtr a = Put();
  Put();
  ASSERT_EQ(queue_.Take(), a);
  queue_.Hold();
  queue_.GiveBack(a, Return::kLost, "worker/0", absl::UnavailableError("gone"));
  // It may have been applied in part.
  EXPECT_THAT(queue_.AwaitQuiet(kNow),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  ASSERT_EQ(queue_.Take(), a);
  EXPECT_EQ(queue_.Take(), nullptr);
  Finish(a);
  EXPECT_OK(queue_.AwaitQuiet(kNow));
}

TEST_F(HoldQueueTest, WhatWasGivenBackAndCancelledIsNotWaitedFor) {
  const ClosurePtr a = Put();
  ASSERT_EQ(queue_.Take(), a);
  queue_.GiveBack(a, Return::kLost, "worker/0", absl::UnavailableError("gone"));
  queue_.Hold();
  queue_.Cancel(*a);
  // Although no worker would take it.
  EXPECT_OK(queue_.AwaitQuiet(kNow));
}

TEST_F(HoldQueueTest, AFailureIsSaidButNotTaken) {
  const ClosurePtr a = Put();
  ASSERT_EQ(queue_.Take(), a);
  queue_.Hold();
  auto quiet =
      std::async(std::launch::async, [&] { return queue_.AwaitQuiet(kEver); });
  queue_.Fail(a, absl::InternalError("boom"));
  EXPECT_THAT(quiet.get(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                    HasSubstr("boom")));
  queue_.Release();
  EXPECT_THAT(queue_.Join(kEver), StatusIs(absl::StatusCode::kInternal));
  EXPECT_OK(queue_.AwaitQuiet(kNow));
}

TEST_F(HoldQueueTest, ARoundThatHasBegunIsCompletedAndCommitted) {
  UseRounds(2);
  const ClosurePtr a = Put();
  const ClosurePtr b = Put();
  Put();
  ASSERT_EQ(queue_.Take(), a);
  queue_.Hold();
  // The rest of round 1, and nothing of round 2.
  EXPECT_EQ(queue_.Take(), b);
  EXPECT_EQ(queue_.Take(), nullptr);
  Finish(a);
  Finish(b);
  EXPECT_THAT(queue_.AwaitQuiet(kNow),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_TRUE(Commit());
  EXPECT_OK(queue_.AwaitQuiet(kNow));
  EXPECT_EQ(queue_.Take(), nullptr);
  EXPECT_EQ(queue_.counts().round, 1u);
}

TEST_F(HoldQueueTest, ARoundThatHasNotBegunWaits) {
  UseRounds(2);
  Put();
  queue_.Hold();
  EXPECT_OK(queue_.AwaitQuiet(kNow));
  EXPECT_EQ(queue_.Take(), nullptr);
  EXPECT_FALSE(Commit());
}

TEST_F(HoldQueueTest, ARoundThatNobodyCompletesIsClosed) {
  UseRounds(3);
  const ClosurePtr a = Put();
  ASSERT_EQ(queue_.Take(), a);
  queue_.Hold();
  Finish(a);
  EXPECT_FALSE(Commit());
  EXPECT_THAT(queue_.AwaitQuiet(kNow),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_TRUE(Commit());
  EXPECT_OK(queue_.AwaitQuiet(kNow));
  // What comes next belongs to the next round.
  const ClosurePtr b = Put();
  EXPECT_EQ(b->place, (RoundPlace{2, 0}));
}

TEST_F(HoldQueueTest, TheRoundAfterIsNotClosedOnlyBecauseACommitIsUnderWay) {
  UseRounds(2);
  const ClosurePtr a = Put();
  const ClosurePtr b = Put();
  Put();  // begins round 2, which is to be filled later
  ASSERT_EQ(queue_.Take(), a);
  ASSERT_EQ(queue_.Take(), b);
  queue_.Hold();
  Finish(a);
  Finish(b);
  EXPECT_THAT(queue_.AwaitQuiet(kNow),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_TRUE(Commit());
  EXPECT_OK(queue_.AwaitQuiet(kNow));
  EXPECT_EQ(Put()->place, (RoundPlace{2, 1}));
}

TEST_F(HoldQueueTest, WhatOnlyReadsDoesNotStandInTheWayOfARound) {
  UseRounds(2);
  const ClosurePtr a = Put();
  const ClosurePtr reader = Put(true);
  const ClosurePtr b = Put();
  ASSERT_EQ(queue_.Take(), a);
  queue_.Hold();
  ASSERT_EQ(queue_.Take(), b);
  EXPECT_EQ(queue_.Take(), nullptr);
  Finish(a);
  Finish(b);
  EXPECT_TRUE(Commit());
  EXPECT_OK(queue_.AwaitQuiet(kNow));
  queue_.Release();
  EXPECT_EQ(queue_.Take(), reader);
}

TEST_F(HoldQueueTest, ARoundIsClosedThoughSomethingWaitsThatOnlyReads) {
  UseRounds(2);
  const ClosurePtr a = Put();
  Put(true);
  ASSERT_EQ(queue_.Take(), a);
  queue_.Hold();
  Finish(a);
  EXPECT_THAT(queue_.AwaitQuiet(kNow),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_TRUE(Commit());
  EXPECT_OK(queue_.AwaitQuiet(kNow));
}

TEST_F(HoldQueueTest, AJoinDoesNotWaitForReservedStepsThatWereNotPut) {
  const StepBlock block = queue_.Reserve(3);
  EXPECT_EQ(block, (StepBlock{.first = 1, .count = 3}));
  EXPECT_EQ(queue_.last_step(), 3u);
  EXPECT_OK(queue_.Join(kNow));
  const ClosurePtr a = Put(false, block.first);
  const ClosurePtr other = Put();
  EXPECT_EQ(other->step, 4u);
  EXPECT_THAT(queue_.Join(kNow), StatusIs(absl::StatusCode::kDeadlineExceeded));
  ASSERT_EQ(queue_.Take(), a);
  Finish(a);
  ASSERT_EQ(queue_.Take(), other);
  Finish(other);
  EXPECT_OK(queue_.Join(kNow));
  // But the watermark does; OverAbove reports the step for checkpoints.
  EXPECT_EQ(queue_.counts().watermark, 1u);
  EXPECT_THAT(queue_.OverAbove(), ElementsAre(4));
  queue_.EndBlock(block, 2);
  EXPECT_EQ(queue_.counts().watermark, 4u);
  EXPECT_THAT(queue_.OverAbove(), ElementsAre());
}

TEST_F(HoldQueueTest, ABlockBeginsWithARound) {
  UseRounds(2);
  const ClosurePtr a = Put();
  const StepBlock block = queue_.Reserve(2);
  EXPECT_EQ(block.first_round, 2u);
  // Round 1 gets no more closures, and so can be committed.
  ASSERT_EQ(queue_.Take(), a);
  Finish(a);
  EXPECT_TRUE(Commit());
  EXPECT_EQ(Put(false, block.first)->place, (RoundPlace{2, 0}));
}

TEST_F(HoldQueueTest, OtherStepsAreJoinedButAreNoClosures) {
  const uint64_t step = queue_.BeginStep();
  EXPECT_THAT(queue_.Join(kNow), StatusIs(absl::StatusCode::kDeadlineExceeded));
  queue_.Hold();
  // The coordinator's own updates are held back elsewhere.
  EXPECT_OK(queue_.AwaitQuiet(kNow));
  queue_.EndStep(step);
  EXPECT_OK(queue_.Join(kNow));
}

TEST_F(HoldQueueTest, ResumeGoesOnWithTheNumbersAndTheRoundsOfAnother) {
  const StepBlock block = {.first = 11, .count = 6, .first_round = 4};
  queue_.Resume({.watermark = 12,
                 .last = 14,
                 .blocks = {block},
                 .rules = {.replicas = 2, .sync = true},
                 .next_round = 5,
                 .settled = 5});
  EXPECT_EQ(queue_.counts().watermark, 12u);
  EXPECT_EQ(queue_.counts().round, 5u);
  EXPECT_EQ(queue_.last_step(), 16u);
  // No step of the block was put here.
  EXPECT_OK(queue_.Join(kNow));
  const ClosurePtr a = Put(false, 13);
  const ClosurePtr b = Put(false, 14);
  const ClosurePtr c = Put(false, 15);
  EXPECT_EQ(a->place, (RoundPlace{5, 0}));
  EXPECT_EQ(c->place, (RoundPlace{6, 0}));
  // Round 5 is settled, so round 6 may run beside it.
  ASSERT_EQ(queue_.Take(), a);
  ASSERT_EQ(queue_.Take(), b);
  ASSERT_EQ(queue_.Take(), c);
  Finish(a);
  Finish(b);
  EXPECT_FALSE(Commit());
  EXPECT_EQ(queue_.counts().watermark, 14u);
  // A step that does not belong to the block.
  const ClosurePtr d = Put();
  EXPECT_EQ(d->step, 17u);
  EXPECT_EQ(d->place, (RoundPlace{6, 1}));
}

TEST_F(HoldQueueTest, RestartedRoundsAreQuiet) {
  UseRounds(1);
  for (int i = 0; i < 3; ++i) {
    Put();
    Finish(queue_.Take());
    ASSERT_TRUE(Commit());
  }
  queue_.RestartRounds();
  queue_.Hold();
  EXPECT_OK(queue_.AwaitQuiet(kNow));
  queue_.Release();
  EXPECT_EQ(Put()->place, (RoundPlace{1, 0}));
  EXPECT_NE(queue_.Take(), nullptr);
}

}  // namespace
}  // namespace capstan

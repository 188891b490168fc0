// Steps with keys, in the queue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "coordinator/closure/closure_queue_test.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using testing::ClosurePtr;
using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::kEver;
using testing::NewClosure;
using testing::StatusIs;

ClosurePtr KeyedClosure(uint64_t key) {
  ClosurePtr closure = NewClosure();
  closure->key = key;
  return closure;
}

class KeyQueueTest : public ::testing::Test {
 protected:
  // As if the servers had been told.
  void Tell() {
    const std::optional<ClosureQueue::KeyRecord> record =
        queue_.NewKeyRecord(told_);
    if (record) told_ = record->version;
    queue_.KeysPublished(told_);
  }
  ClosurePtr Put(uint64_t key) {
    ClosurePtr closure = KeyedClosure(key);
    absl::StatusOr<bool> put = queue_.TryPut(closure);
    if (put.ok() && !*put && queue_.NumberKey(key)) {
      EXPECT_THAT(queue_.TryPut(closure), IsOkAndHolds(false));
      Tell();
      put = queue_.TryPut(closure);
    }
    EXPECT_THAT(put, IsOkAndHolds(true));
    return closure;
  }
  void Fail(const ClosurePtr& closure) {
    queue_.Fail(closure, absl::InternalError("boom"));
    EXPECT_THAT(queue_.Join(kEver), StatusIs(absl::StatusCode::kInternal));
  }

  ClosureQueue queue_{ClosureQueueOptions{.capacity = 100'000}};
  uint64_t told_ = 0;
};

TEST_F(KeyQueueTest, AStepThatFailsIsTheSameOneWhenItRunsAgain) {
  const ClosurePtr first = Put(0);
  const ClosurePtr second = Put(1);
  EXPECT_EQ(second->step, first->step + 1);
  queue_.Take();
  queue_.Finish(queue_.Take(), {});
  EXPECT_THAT(queue_.IsComplete(1), IsOkAndHolds(true));
  Fail(first);
  EXPECT_THAT(queue_.IsComplete(0), IsOkAndHolds(false));
  EXPECT_EQ(queue_.counts().watermark, 0u) << "it is not over";
  EXPECT_THAT(queue_.CheckNoPartialKey(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("step key 0 was begun")));
  const ClosurePtr again = Put(0);
  EXPECT_EQ(again->step, first->step);
  EXPECT_OK(queue_.CheckNoPartialKey());
  ASSERT_EQ(queue_.Take(), again);
  queue_.Finish(again, {});
  EXPECT_OK(queue_.Join(kEver));
  EXPECT_THAT(queue_.FirstIncomplete(), IsOkAndHolds(2));
  EXPECT_EQ(queue_.counts().watermark, 2u);
}

TEST_F(KeyQueueTest, OneThatWasCalledOffBeforeItBeganIsTheSameToo) {
  const ClosurePtr failing = Put(0);
  const ClosurePtr queued = Put(1);
  queue_.Take();
  Fail(failing);
  EXPECT_EQ(Put(1)->step, queued->step);
  EXPECT_EQ(Put(0)->step, failing->step);
  EXPECT_EQ(queue_.Take()->key, 0u) << "the one that has begun goes first";
}

// A closure that was cancelled while it was queued stays in the queue, and the
// one that replaces it must not be lost.
TEST_F(KeyQueueTest, OneThatWasCancelledMakesWay) {
  ClosurePtr closure = Put(0);
  ASSERT_EQ(queue_.Take(), closure);
  queue_.GiveBack(closure, Return::kLost, "worker/0", absl::OkStatus());
  for (int i = 0; i < 2; ++i) {
    queue_.Cancel(*closure);
    closure = Put(0);
  }
  ASSERT_EQ(queue_.Take(), closure);
  EXPECT_EQ(queue_.Take(), nullptr);
  queue_.Finish(closure, {});
  EXPECT_OK(queue_.Join(kEver));
  EXPECT_THAT(queue_.Done(), IsOkAndHolds(true));
}

TEST_F(KeyQueueTest, WhatMakesNoSenseIsRefused) {
  const ClosurePtr closure = Put(0);
  EXPECT_THAT(queue_.TryPut(KeyedClosure(0)),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       HasSubstr("step key 0 is scheduled already")));
  EXPECT_THAT(queue_.SkipKey(0), StatusIs(absl::StatusCode::kFailedPrecondition,
                                          HasSubstr("is scheduled")));
  for (const absl::Status& status :
       {queue_.CheckNoKeyScheduled(), queue_.ResetKeys({})}) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                                 HasSubstr("Join first")));
  }
  queue_.Finish(queue_.Take(), {});
  EXPECT_THAT(queue_.TryPut(KeyedClosure(0)),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       HasSubstr("step key 0 is complete already")));
  EXPECT_THAT(queue_.TryPut(KeyedClosure(1'000'000)),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("step key 1000000 is too far ahead"),
                             HasSubstr("1 is not complete"))));
  EXPECT_THAT(queue_.SkipKey(1'000'000),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_OK(queue_.SkipKey(0));
  EXPECT_OK(queue_.SkipKey(1));
  EXPECT_THAT(queue_.FirstIncomplete(), IsOkAndHolds(2));
  EXPECT_OK(queue_.CheckNoKeyScheduled());
}

TEST_F(KeyQueueTest, RoundsAreRefused) {
  ASSERT_TRUE(queue_.SetRules({.replicas = 2, .sync = true}));
  EXPECT_THAT(queue_.TryPut(KeyedClosure(0)),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("step key 0"), HasSubstr("Sync"))));
}

TEST_F(KeyQueueTest, OneThatIsTooFarAheadWaitsForTheFirst) {
  const ClosurePtr first = Put(0);
  queue_.Take();
  const ClosurePtr far = KeyedClosure(KeyLedger::kWindow);
  EXPECT_THAT(queue_.TryPut(far), IsOkAndHolds(false));
  EXPECT_FALSE(queue_.NumberKey(*far->key));
  std::thread waiting([&] { queue_.AwaitPlace(*far); });
  queue_.Finish(first, {});
  waiting.join();
  Put(*far->key);
}

TEST_F(KeyQueueTest, StepsWithoutKeysDoNotWaitForNumbersThatNobodyUses) {
  const ClosurePtr keyed = Put(0);
  const ClosurePtr other = NewClosure();
  ASSERT_OK(queue_.Put(other));
  queue_.Finish(queue_.Take(), {});
  queue_.Finish(queue_.Take(), {});
  EXPECT_EQ(queue_.counts().watermark, keyed->step);
  Tell();
  EXPECT_EQ(queue_.counts().watermark, other->step);
  EXPECT_GT(Put(1)->step, other->step);
}

TEST_F(KeyQueueTest, WhatHasBegunIsDoneBeforeTheQueueIsQuiet) {
  const ClosurePtr failing = Put(0);
  queue_.Take();
  Fail(failing);
  const ClosurePtr fresh = Put(1);
  const ClosurePtr again = Put(0);
  queue_.Hold();
  EXPECT_THAT(queue_.AwaitQuiet(Duration(1)),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  ASSERT_EQ(queue_.Take(), again);
  EXPECT_EQ(queue_.Take(), nullptr);
  queue_.Finish(again, {});
  EXPECT_OK(queue_.AwaitQuiet(kEver));
  EXPECT_OK(queue_.CheckNoPartialKey());
  queue_.Release();
  EXPECT_EQ(queue_.Take(), fresh);
}

TEST_F(KeyQueueTest, WhileItIsNotKnownWhatIsCompleteNothingCanBeAsked) {
  queue_.Finish((Put(0), queue_.Take()), {});
  ASSERT_OK(queue_.ResetKeys({.restoring = true}));
  for (const absl::Status& status :
       {queue_.IsComplete(0).status(), queue_.FirstIncomplete().status(),
        queue_.SkipKey(0), queue_.TryPut(KeyedClosure(0)).status(),
        queue_.CheckNoPartialKey()}) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                                 HasSubstr("Restore again")));
  }
  ASSERT_OK(queue_.ResetKeys({}));
  EXPECT_THAT(queue_.IsComplete(0), IsOkAndHolds(false));
  const ClosurePtr closure = Put(0);
  EXPECT_GT(closure->step, KeyLedger::kChunk) << "not the step of before";
}

TEST_F(KeyQueueTest, AnotherLifeGoesOnWithTheSameSteps) {
  for (uint64_t key = 0; key < 3; ++key) Put(key);
  queue_.Take();
  queue_.Finish(queue_.Take(), {});
  const std::optional<ClosureQueue::KeyRecord> record =
      queue_.NewKeyRecord(told_);
  ASSERT_TRUE(record);
  ClosureQueue after({});
  ClosureQueue::ResumePoint point;
  point.last = 2;
  std::map<std::string, StepBlock> blocks;
  for (const auto& [name, open] : record->blocks) {
    point.blocks.push_back(open.block);
    blocks[name] = open.block;
  }
  after.Resume(point);
  ASSERT_OK(after.LoadKeys(record->complete, blocks, point.last));
  EXPECT_THAT(after.IsComplete(1), IsOkAndHolds(true));
  EXPECT_THAT(after.FirstIncomplete(), IsOkAndHolds(0));
  for (const uint64_t key : {2, 0}) {
    const ClosurePtr closure = KeyedClosure(key);
    ASSERT_THAT(after.TryPut(closure), IsOkAndHolds(true));
    EXPECT_EQ(closure->step, key + 1);
  }
  EXPECT_EQ(after.Take()->key, 0u) << "it may have begun before";
  after.Finish(after.Take(), {});
  EXPECT_EQ(after.counts().watermark, 0u);
}

}  // namespace
}  // namespace capstan

#include "coordinator/closure/closure_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "base/status.h"
#include "coordinator/closure/closure_queue_test.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using testing::ClosurePtr;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::kEver;
using testing::NewClosure;
using testing::StatusIs;

class ClosureQueueTest : public ::testing::Test {
 protected:
  ClosurePtr Put() {
    ClosurePtr closure = NewClosure();
    EXPECT_OK(queue_.Put(closure));
    return closure;
  }
  bool Idle() {
    const absl::StatusOr<bool> done = queue_.Done();
    EXPECT_OK(done);
    return done.ok() && *done;
  }
  void Lose(const ClosurePtr& closure, const std::string& worker) {
    queue_.GiveBack(closure, Return::kLost, worker,
                    absl::UnavailableError("connection reset"));
  }

  ClosureQueue queue_{ClosureQueueOptions{
      .capacity = 8,
      .on_work = [this] { ++work_; },
      .on_cancel_all = [this] { ++cancels_; },
      .on_cancel = [this](uint64_t step) { cancelled_step_ = step; },
      .on_then = [](const std::function<void()>& then) { then(); }}};
  std::atomic<int> work_ = 0;
  std::atomic<int> cancels_ = 0;
  std::atomic<uint64_t> cancelled_step_ = 0;
};

TEST_F(ClosureQueueTest, WhatIsPutIsTakenGivenBackAndFinished) {
  EXPECT_TRUE(Idle());
  const ClosurePtr closure = Put();
  EXPECT_EQ(closure->step, 1u);
  EXPECT_FALSE(Idle());
  EXPECT_EQ(queue_.Take(), closure);
  EXPECT_FALSE(Idle());
  EXPECT_EQ(queue_.Take(), nullptr);
  Lose(closure, "worker/0");
  EXPECT_EQ(queue_.Take(), closure);
  EXPECT_EQ(closure->step, 1u);
  queue_.Finish(closure, {.bytes = "value"});
  EXPECT_TRUE(Idle());
  EXPECT_OK(queue_.Join(kEver));
  EXPECT_TRUE(queue_.IsDone(*closure));
  EXPECT_EQ(closure->value.bytes, "value");
}

TEST_F(ClosureQueueTest, WhatIsGivenBackGoesBeforeTheRestInOrder) {
  const ClosurePtr a = Put();
  const ClosurePtr b = Put();
  const ClosurePtr c = Put();
  ASSERT_EQ(queue_.Take(), a);
  ASSERT_EQ(queue_.Take(), b);
  Lose(b, "worker/0");
  Lose(a, "worker/0");
  EXPECT_EQ(queue_.Take(), a);
  EXPECT_EQ(queue_.Take(), b);
  EXPECT_EQ(queue_.Take(), c);
}

TEST_F(ClosureQueueTest, JoinWithNothingToDoReturnsAtOnceAndAgain) {
  EXPECT_OK(queue_.Join(kEver));
  EXPECT_OK(queue_.Join(Duration::zero()));
  Put();
  queue_.Finish(queue_.Take(), {});
  EXPECT_OK(queue_.Join(kEver));
  EXPECT_OK(queue_.Join(kEver));
}

TEST_F(ClosureQueueTest, JoinSaysWhatIsLeftAtItsDeadline) {
  Put();
  Put();
  queue_.Take();
  EXPECT_THAT(queue_.Join(Duration(1)),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       HasSubstr("1 function queued, 1 running: step 1 "
                                 "('f')")));
}

TEST_F(ClosureQueueTest, JoinDoesNotWaitForWhatIsPutLater) {
  const ClosurePtr first = Put();
  const uint64_t last = queue_.last_step();
  Put();
  EXPECT_EQ(queue_.TryJoin(last), std::nullopt);
  queue_.Finish(queue_.Take(), {});
  EXPECT_EQ(queue_.TryJoin(last), absl::OkStatus());
  EXPECT_EQ(queue_.TryJoin(queue_.last_step()), std::nullopt);
}

TEST_F(ClosureQueueTest, AFailureEndsAJoinThatWaits) {
  const ClosurePtr closure = Put();
  ASSERT_EQ(queue_.Take(), closure);
  std::thread joining([&] {
    EXPECT_THAT(queue_.Join(kEver),
                StatusIs(absl::StatusCode::kInternal, HasSubstr("boom")));
  });
  queue_.Fail(closure, absl::InternalError("boom"));
  joining.join();
  EXPECT_TRUE(Idle());
}

TEST_F(ClosureQueueTest, APutAfterAFailureReportsItAndTheNextOneWorks) {
  const ClosurePtr failing = Put();
  const ClosurePtr queued = Put();
  ASSERT_EQ(queue_.Take(), failing);
  queue_.Fail(failing, absl::InternalError("boom"));
  EXPECT_THAT(queue_.Put(NewClosure()),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("boom")));
  EXPECT_TRUE(queue_.IsDone(*queued));
  EXPECT_THAT(
      queue_.StatusOf(*queued),
      StatusIs(absl::StatusCode::kCancelled, HasSubstr("schedule it again")));
  EXPECT_TRUE(Idle());
  const ClosurePtr next = Put();
  EXPECT_EQ(queue_.Take(), next);
}

TEST_F(ClosureQueueTest, AnErrorIsReportedOnceByJoin) {
  Put();
  queue_.Fail(queue_.Take(), absl::InternalError("boom"));
  EXPECT_THAT(queue_.Join(kEver), StatusIs(absl::StatusCode::kInternal));
  EXPECT_OK(queue_.Join(kEver));
}

TEST_F(ClosureQueueTest, AnErrorIsReportedByDone) {
  Put();
  queue_.Fail(queue_.Take(), absl::InternalError("boom"));
  EXPECT_THAT(queue_.Done(), StatusIs(absl::StatusCode::kInternal));
  EXPECT_TRUE(Idle());
}

// Nobody has called, so the others continue.
TEST_F(ClosureQueueTest, AFailureCallsOffNothingUntilSomebodyCalls) {
  const std::vector<std::function<bool()>> calls = {
      [&] { return *queue_.TryPut(NewClosure()); },
      [&] { return queue_.TryJoin(queue_.last_put()).has_value(); },
      [&] { return *queue_.Done(); }};
  for (const std::function<bool()>& call : calls) {
    cancels_ = 0;
    const ClosurePtr failing = Put();
    const ClosurePtr running = Put();
    const ClosurePtr queued = Put();
    const ClosurePtr last = Put();
    queue_.Take();
    queue_.Take();
    queue_.Fail(failing, absl::InternalError("boom"));
    EXPECT_EQ(cancels_, 0);
    EXPECT_EQ(queue_.Take(), queued);
    queue_.GiveBack(queued, Return::kUnused, "", absl::OkStatus());
    EXPECT_EQ(queue_.Take(), queued) << "as if nothing had failed";
    EXPECT_FALSE(call());
    EXPECT_EQ(cancels_, 1);
    EXPECT_EQ(queue_.Take(), nullptr);
    queue_.Finish(running, {});
    EXPECT_FALSE(call()) << "one is still in flight";
    queue_.EndCancelled(queued);
    EXPECT_THAT(queue_.StatusOf(*last), StatusIs(absl::StatusCode::kCancelled));
    EXPECT_THAT(queue_.Done(), StatusIs(absl::StatusCode::kInternal));
    EXPECT_TRUE(Idle());
    EXPECT_EQ(cancels_, 1);
  }
}

TEST_F(ClosureQueueTest, WhatFailsByItselfWhenCalledOffKeepsItsError) {
  const ClosurePtr first = Put();
  const ClosurePtr second = Put();
  const ClosurePtr third = Put();
  for (int i = 0; i < 3; ++i) queue_.Take();
  queue_.Fail(first, absl::InternalError("boom"));
  EXPECT_THAT(queue_.Done(), IsOkAndHolds(false));
  queue_.Fail(second, absl::DataLossError("my own"));
  queue_.EndCancelled(third);
  EXPECT_THAT(queue_.StatusOf(*second), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(queue_.StatusOf(*third), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(queue_.Done(), StatusIs(absl::StatusCode::kInternal,
                                      HasSubstr("boom (and 1 more error)")));
  EXPECT_THAT(queue_.LastErrors(),
              ElementsAre(StatusIs(absl::StatusCode::kInternal),
                          StatusIs(absl::StatusCode::kDataLoss)));
}

TEST_F(ClosureQueueTest, WhatFailsAfterItsOwnCancellationIsCancelled) {
  const ClosurePtr closure = Put();
  queue_.Take();
  queue_.Cancel(*closure);
  queue_.Fail(closure, absl::InternalError("because it was told to end"));
  EXPECT_THAT(queue_.StatusOf(*closure),
              StatusIs(absl::StatusCode::kCancelled));
  EXPECT_TRUE(Idle());
  EXPECT_EQ(queue_.counts().failed, 0u);
}

TEST_F(ClosureQueueTest, AJoinThatTimesOutNamesThePendingError) {
  const ClosurePtr failing = Put();
  const ClosurePtr running = Put();
  queue_.Take();
  queue_.Take();
  queue_.Fail(failing, absl::InternalError("boom"));
  EXPECT_THAT(queue_.Join(Duration(1)),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       AllOf(HasSubstr("an error is pending"),
                             HasSubstr("boom"), HasSubstr("1 running"))));
  queue_.EndCancelled(running);
  EXPECT_THAT(queue_.Join(kEver), StatusIs(absl::StatusCode::kInternal));
}

TEST_F(ClosureQueueTest, AnErrorIsNotReportedBeforeAllInFlightHasEnded) {
  const ClosurePtr failing = Put();
  const ClosurePtr running = Put();
  queue_.Take();
  queue_.Take();
  queue_.Fail(failing, absl::InternalError("boom"));
  EXPECT_THAT(queue_.TryPut(NewClosure()), IsOkAndHolds(false));
  EXPECT_EQ(queue_.TryJoin(1), std::nullopt);
  EXPECT_EQ(queue_.Take(), nullptr);
  queue_.EndCancelled(running);
  EXPECT_THAT(queue_.TryPut(NewClosure()),
              StatusIs(absl::StatusCode::kInternal));
  EXPECT_THAT(queue_.StatusOf(*running),
              StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(ClosureQueueTest, WhatIsGivenBackAfterAFailureIsCancelled) {
  const ClosurePtr failing = Put();
  const ClosurePtr lost = Put();
  queue_.Take();
  queue_.Take();
  queue_.Fail(failing, absl::InternalError("boom"));
  Lose(lost, "worker/1");
  EXPECT_THAT(queue_.StatusOf(*lost), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(queue_.Join(kEver), StatusIs(absl::StatusCode::kInternal));
}

TEST_F(ClosureQueueTest, AllErrorsOfAFailureAreKept) {
  const ClosurePtr a = Put();
  const ClosurePtr b = Put();
  queue_.Take();
  queue_.Take();
  queue_.Fail(a, absl::InternalError("first"));
  queue_.Fail(b, absl::DataLossError("second"));
  EXPECT_THAT(queue_.Join(kEver),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("first (and 1 more error)")));
  const std::vector<absl::Status> errors = queue_.LastErrors();
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_THAT(errors[1], StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_OK(queue_.Join(kEver));
}

TEST_F(ClosureQueueTest, AFullQueueTakesNoMoreButWhatIsGivenBack) {
  std::vector<ClosurePtr> closures;
  for (int i = 0; i < 8; ++i) closures.push_back(Put());
  EXPECT_THAT(queue_.TryPut(NewClosure()), IsOkAndHolds(false));
  // Taking a closure frees a place, and another closure then occupies it.
  const ClosurePtr taken = queue_.Take();
  EXPECT_THAT(queue_.TryPut(NewClosure()), IsOkAndHolds(true));
  Lose(taken, "worker/0");
  EXPECT_EQ(queue_.counts().queued, 9u);
  EXPECT_THAT(queue_.TryPut(NewClosure()), IsOkAndHolds(false));
  EXPECT_EQ(queue_.Take(), taken);
}

TEST_F(ClosureQueueTest, APutThatWaitsForAPlaceGoesOnWhenOneIsTaken) {
  for (int i = 0; i < 8; ++i) Put();
  std::thread putting([&] { EXPECT_OK(queue_.Put(NewClosure())); });
  queue_.Finish(queue_.Take(), {});
  putting.join();
  EXPECT_EQ(queue_.counts().queued, 8u);
}

TEST_F(ClosureQueueTest, AClosureThatTakesDownThreeWorkersIsPoisoned) {
  const ClosurePtr closure = Put();
  for (const char* worker : {"worker/0", "worker/2"}) {
    ASSERT_EQ(queue_.Take(), closure);
    Lose(closure, worker);
  }
  EXPECT_TRUE(closure->suspect());
  ASSERT_EQ(queue_.Take(), closure);
  Lose(closure, "worker/1");
  const absl::Status status = queue_.Join(kEver);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kAborted,
                               HasSubstr("worker/0, worker/2, worker/1")));
  ASSERT_TRUE(status.GetPayload(kPoisonedUrl));
  EXPECT_EQ(queue_.counts().poisoned, 1u);
  EXPECT_EQ(queue_.counts().lost_retries, 2u);
}

TEST_F(ClosureQueueTest, AWorkerThatComesBackWasNotTakenDown) {
  const ClosurePtr closure = Put();
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(queue_.Take(), closure);
    Lose(closure, "worker/0");
    queue_.Absolve(*closure, "worker/0");
    EXPECT_FALSE(closure->suspect());
  }
}

TEST_F(ClosureQueueTest, AWorkerThatLeavesIsNoReasonToSuspect) {
  const ClosurePtr closure = Put();
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(queue_.Take(), closure);
    queue_.GiveBack(closure, Return::kLeaving, "worker/0", absl::OkStatus());
  }
  EXPECT_FALSE(closure->suspect());
  EXPECT_EQ(queue_.counts().leaving_retries, 10u);
}

TEST_F(ClosureQueueTest, AServerThatCannotBeReachedThreeTimesIsAnError) {
  const ClosurePtr closure = Put();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(queue_.Take(), closure);
    queue_.GiveBack(closure, Return::kServer, "worker/0",
                    absl::UnavailableError("ps/1"));
  }
  EXPECT_THAT(queue_.Join(kEver), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(ClosureQueueTest, AQueuedClosureThatIsCancelledIsNeverTaken) {
  const ClosurePtr a = Put();
  const ClosurePtr b = Put();
  queue_.Cancel(*a);
  EXPECT_TRUE(queue_.IsDone(*a));
  EXPECT_EQ(queue_.Take(), b);
  queue_.Finish(b, {});
  EXPECT_OK(queue_.Join(kEver));
  EXPECT_THAT(queue_.StatusOf(*a), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_EQ(queue_.counts().cancelled, 1u);
}

TEST_F(ClosureQueueTest, AClosureInFlightIsCancelledByItsWorker) {
  const ClosurePtr closure = Put();
  queue_.Take();
  queue_.Cancel(*closure);
  EXPECT_EQ(cancelled_step_, closure->step);
  EXPECT_FALSE(queue_.IsDone(*closure));
  queue_.EndCancelled(closure);
  EXPECT_OK(queue_.Join(kEver));
  // Nothing happens to a closure that is done.
  queue_.Cancel(*closure);
}

TEST_F(ClosureQueueTest, OneThatWasCancelledAndThenLostDoesNotRunAgain) {
  const ClosurePtr closure = Put();
  queue_.Take();
  queue_.Cancel(*closure);
  Lose(closure, "worker/0");
  EXPECT_EQ(queue_.Take(), nullptr);
  EXPECT_THAT(queue_.StatusOf(*closure),
              StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(ClosureQueueTest, CallbacksAreCalledOnceBeforeAndAfterTheEnd) {
  const ClosurePtr closure = Put();
  int calls = 0;
  queue_.Then(*closure, [&] { ++calls; });
  EXPECT_EQ(calls, 0);
  queue_.Finish(queue_.Take(), {});
  EXPECT_EQ(calls, 1);
  queue_.Then(*closure, [&] { ++calls; });
  EXPECT_EQ(calls, 2);
}

TEST_F(ClosureQueueTest, ABrokenJobIsReportedByEveryCallUntilItIsMended) {
  const ClosurePtr running = Put();
  Put();
  queue_.Take();
  queue_.Break(absl::UnavailableError("ps/1 is lost"));
  EXPECT_EQ(cancels_, 1);
  queue_.EndCancelled(running);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(queue_.Join(kEver), StatusIs(absl::StatusCode::kUnavailable));
    EXPECT_THAT(queue_.Put(NewClosure()),
                StatusIs(absl::StatusCode::kUnavailable));
  }
  queue_.Mend();
  EXPECT_OK(queue_.Join(kEver));
  Put();
  EXPECT_NE(queue_.Take(), nullptr);
}

TEST_F(ClosureQueueTest, AJobThatIsMendedInTimeGoesOn) {
  ASSERT_TRUE(queue_.SetRules({.replicas = 2, .sync = true}));
  const ClosurePtr a = Put();
  const ClosurePtr b = Put();
  queue_.Take();
  queue_.Take();
  queue_.Break(absl::UnavailableError("ps/1 is lost"));
  queue_.Finish(a, {});
  queue_.Mend();
  // It was told to end, but the cancellation no longer applies.
  queue_.EndCancelled(b);
  EXPECT_EQ(queue_.Take(), b);
  queue_.Finish(b, {});
  ASSERT_TRUE(queue_.NextCommit());
  queue_.Committed(1);
  EXPECT_OK(queue_.Join(kEver));
}

TEST_F(ClosureQueueTest, TheWatermarkIsBelowTheFirstStepThatIsNotOver) {
  Put();
  Put();
  const ClosurePtr a = queue_.Take();
  const ClosurePtr b = queue_.Take();
  queue_.Finish(b, {});
  EXPECT_EQ(queue_.counts().watermark, 0u);
  queue_.Finish(a, {});
  EXPECT_EQ(queue_.counts().watermark, 2u);
  const uint64_t step = queue_.BeginStep();
  EXPECT_EQ(step, 3u);
  EXPECT_EQ(queue_.counts().watermark, 2u);
  queue_.EndStep(step);
  EXPECT_EQ(queue_.counts().watermark, 3u);
}

TEST_F(ClosureQueueTest, ARoundIsTakenWhenTheOneBeforeItIsCommitted) {
  ASSERT_TRUE(queue_.SetRules({.replicas = 2, .sync = true}));
  for (int i = 0; i < 3; ++i) Put();
  const ClosurePtr a = queue_.Take();
  const ClosurePtr b = queue_.Take();
  EXPECT_EQ(queue_.Take(), nullptr);
  queue_.Finish(b, {});
  queue_.Finish(a, {});
  EXPECT_EQ(queue_.Take(), nullptr);
  EXPECT_EQ(queue_.counts().watermark, 0u);
  const std::optional<RoundDecision> decision = queue_.NextCommit();
  ASSERT_TRUE(decision);
  work_ = 0;
  queue_.Committed(decision->round);
  EXPECT_GT(work_, 0);
  EXPECT_EQ(queue_.counts().watermark, 2u);
  const ClosurePtr c = queue_.Take();
  ASSERT_NE(c, nullptr);
  EXPECT_EQ(c->place, (RoundPlace{2, 0}));
  queue_.Finish(c, {});
  // The round is not full, and nobody is going to fill it.
  const uint64_t last = queue_.last_step();
  EXPECT_EQ(queue_.NextCommit(), std::nullopt);
  EXPECT_EQ(queue_.TryJoin(last), std::nullopt);
  ASSERT_TRUE(queue_.NextCommit());
  queue_.Committed(2);
  EXPECT_EQ(queue_.TryJoin(last), absl::OkStatus());
}

TEST_F(ClosureQueueTest, WhatIsPutAfterAJoinIsInARoundThatIsToBeCommitted) {
  ASSERT_TRUE(queue_.SetRules({.replicas = 2, .sync = true, .backup = 1}));
  for (int i = 0; i < 2; ++i) Put();
  for (int i = 0; i < 2; ++i) queue_.Finish(queue_.Take(), {});
  ASSERT_TRUE(queue_.NextCommit());
  queue_.Committed(1);
  EXPECT_EQ(queue_.TryJoin(queue_.last_put()), absl::OkStatus());
  EXPECT_EQ(Put()->place, (RoundPlace{2, 0}));
}

TEST_F(ClosureQueueTest, AFunctionThatOnlyReadsIsInNoRound) {
  ASSERT_TRUE(queue_.SetRules({.replicas = 2, .sync = true}));
  const ClosurePtr reader = NewClosure(true);
  ASSERT_OK(queue_.Put(reader));
  EXPECT_EQ(reader->place.round, 0u);
  EXPECT_EQ(Put()->place, (RoundPlace{1, 0}));
}

TEST_F(ClosureQueueTest, AFailureGivesUpTheRoundsThatAreNotCommitted) {
  ASSERT_TRUE(queue_.SetRules({.replicas = 2, .sync = true}));
  Put();
  Put();
  const ClosurePtr a = queue_.Take();
  const ClosurePtr b = queue_.Take();
  queue_.Finish(a, {});
  queue_.Fail(b, absl::InternalError("boom"));
  EXPECT_THAT(queue_.Join(kEver), StatusIs(absl::StatusCode::kInternal));
  const std::optional<RoundDecision> decision = queue_.NextCommit();
  ASSERT_TRUE(decision);
  EXPECT_EQ(*decision, (RoundDecision{.round = 1, .replicas = {}}));
  queue_.Committed(1);
  EXPECT_EQ(Put()->place, (RoundPlace{2, 0}));
}

// Otherwise whoever fetches one of them would wait forever.
TEST_F(ClosureQueueTest, WhatWaitsForARoundThatHasFailedIsCalledOff) {
  ASSERT_TRUE(queue_.SetRules({.replicas = 2, .sync = true}));
  const ClosurePtr failing = Put();
  const ClosurePtr beside = Put();
  const ClosurePtr behind = Put();
  EXPECT_EQ(queue_.Take(), failing);
  queue_.Fail(failing, absl::InternalError("boom"));
  EXPECT_EQ(queue_.Take(), beside);
  EXPECT_EQ(queue_.Take(), nullptr);
  EXPECT_FALSE(queue_.IsDone(*behind)) << "something is still in flight";
  queue_.Finish(beside, {});
  EXPECT_EQ(queue_.NextCommit(), std::nullopt);
  EXPECT_EQ(queue_.Take(), nullptr);
  EXPECT_THAT(queue_.StatusOf(*behind), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(queue_.Join(kEver), StatusIs(absl::StatusCode::kInternal));
}

TEST_F(ClosureQueueTest, RangesOfDataAreUsedOrGoBack) {
  DataRanges ranges({.examples = 10, .batch = 5});
  const ClosurePtr good = NewClosure();
  good->tickets.push_back(*ranges.Next());
  ASSERT_OK(queue_.Put(good));
  const ClosurePtr bad = NewClosure();
  bad->tickets.push_back(*ranges.Next());
  ASSERT_OK(queue_.Put(bad));
  EXPECT_EQ(ranges.outstanding(), 2u);
  queue_.Finish(queue_.Take(), {});
  EXPECT_EQ(ranges.outstanding(), 1u);
  queue_.Fail(queue_.Take(), absl::InternalError("boom"));
  EXPECT_EQ(ranges.outstanding(), 0u);
  const std::optional<DataTicket> again = ranges.Next();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->range().begin, 5);
}

// 10 threads that give back and finish in turn, as when workers are lost.
TEST_F(ClosureQueueTest, ManyThreads) {
  constexpr int kClosures = 100;
  constexpr int kThreads = 10;
  ClosureQueue queue({.capacity = 20, .poison_limit = 1'000'000});
  std::atomic<int> finished = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      bool give_back = i % 2 == 0;
      while (finished < kClosures) {
        const ClosurePtr closure = queue.Take();
        if (closure == nullptr) {
          std::this_thread::yield();
          continue;
        }
        if (give_back) {
          queue.GiveBack(closure, Return::kLost, "worker/0", absl::OkStatus());
        } else {
          queue.Finish(closure, {});
          ++finished;
        }
        give_back = !give_back;
      }
    });
  }
  for (int i = 0; i < kClosures; ++i) ASSERT_OK(queue.Put(NewClosure()));
  EXPECT_OK(queue.Join(kEver));
  EXPECT_THAT(queue.Done(), IsOkAndHolds(true));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(queue.counts().finished, static_cast<uint64_t>(kClosures));
  EXPECT_EQ(queue.counts().watermark, static_cast<uint64_t>(kClosures));
}

}  // namespace
}  // namespace capstan

// Steps that have keys: what is complete, what runs again, and what a
// checkpoint brings back. That a coordinator is killed meanwhile is in
// tests/cluster/program_restart_test.py.
#include <atomic>
#include <optional>
#include <set>

#include "capstan/checkpoint.h"
#include "coordinator/checkpoint_helpers.h"
#include "coordinator/helpers.h"

namespace capstan {
namespace {

using testing::AddTo;
using ::testing::AllOf;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::IsError;
using testing::Job;

class StepKeysTest : public ::testing::Test {
 protected:
  // Each step makes two updates; one that is in `failing` fails after the
  // first.
  StepKeysTest()
      : both_(definitions_.AddFunction("both",
                                       [this](WorkerContext& worker, int key) {
                                         AddTo(worker, "first");
                                         if (failing_ == key) {
                                           throw Error(ErrorCode::kDataLoss,
                                                       "half of it");
                                         }
                                         AddTo(worker, "second");
                                       })),
        job_(definitions_, 2, 2) {
    job_.CreateCounter("first");
    job_.CreateCounter("second");
  }

  RemoteValue<void> Schedule(int key) {
    return job_.coordinator.Schedule(StepKey{static_cast<std::uint64_t>(key)},
                                     both_, key);
  }
  bool IsComplete(std::uint64_t key) {
    return job_.coordinator.IsComplete(StepKey{key});
  }
  void ExpectCounts(std::int64_t first, std::int64_t second) {
    EXPECT_EQ(job_.Count("first"), first);
    EXPECT_EQ(job_.Count("second"), second);
  }
  // Leaves step `key` with its first update only.
  void FailHalfWay(int key) {
    failing_ = key;
    const RemoteValue<void> value = Schedule(key);
    EXPECT_THROW(value.Fetch(), Error);
    EXPECT_THAT(ErrorOf([&] { job_.coordinator.Join(); }),
                IsError(ErrorCode::kDataLoss));
    failing_ = -1;
  }

  Definitions definitions_;
  std::atomic<int> failing_ = -1;
  const Function<void, int> both_;
  Job job_;
};

TEST_F(StepKeysTest, WhatFailedHalfWayIsFinishedByTheSameStep) {
  for (int key = 0; key < 10; ++key) Schedule(key);
  job_.coordinator.Join();
  EXPECT_EQ(job_.coordinator.FirstIncomplete().value, 10u);
  FailHalfWay(10);
  EXPECT_FALSE(IsComplete(10));
  ExpectCounts(11, 10);
  Schedule(11).Fetch();
  EXPECT_TRUE(IsComplete(11));
  EXPECT_EQ(job_.coordinator.FirstIncomplete().value, 10u);
  Schedule(10).Fetch();
  EXPECT_TRUE(IsComplete(10));
  ExpectCounts(12, 12);
}

// More than are numbered at a time, beside steps that have no keys.
TEST_F(StepKeysTest, ManyStepsWithAndWithoutKeys) {
  constexpr int kSteps = 10'000;
  for (int key = 0; key < kSteps; ++key) {
    Schedule(key);
    if (key % 10 == 0) job_.coordinator.Schedule(both_, -2);
  }
  job_.coordinator.Join();
  EXPECT_EQ(job_.coordinator.FirstIncomplete().value, std::uint64_t{kSteps});
  ExpectCounts(kSteps * 11 / 10, kSteps * 11 / 10);
}

TEST_F(StepKeysTest, WhatIsNotPossibleIsRefused) {
  Schedule(0).Fetch();
  EXPECT_THAT(ErrorOf([&] { Schedule(0); }),
              IsError(ErrorCode::kAlreadyExists, HasSubstr("step key 0")));
  EXPECT_THAT(ErrorOf([&] { Schedule(100'000); }),
              IsError(ErrorCode::kFailedPrecondition,
                      AllOf(HasSubstr("100000"), HasSubstr("Skip"))));
  job_.coordinator.Skip(StepKey{1});
  EXPECT_TRUE(IsComplete(1));
  ExpectCounts(1, 1);
  EXPECT_THAT(
      ErrorOf([&] { job_.coordinator.SetRecord("capstan/steps", "5"); }),
      IsError(ErrorCode::kInvalidArgument));
  job_.coordinator.CreateVariables(
      {{.name = "w", .shape = {}, .update = Sync{.replicas = 2}}});
  EXPECT_THAT(ErrorOf([&] { Schedule(2); }),
              IsError(ErrorCode::kFailedPrecondition, HasSubstr("Sync")));
}

TEST(NoVariablesTest, StepsWithKeysNeedVariables) {
  Definitions definitions;
  const auto nothing = definitions.AddFunction("nothing", [] {});
  Job job(definitions, 1, 1);
  EXPECT_THAT(ErrorOf([&] { job.coordinator.Schedule(StepKey{0}, nothing); }),
              IsError(ErrorCode::kFailedPrecondition, HasSubstr("variables")));
}

TEST_F(StepKeysTest, ACheckpointBringsBackWhatWasComplete) {
  const testing::TempDir directory;
  CheckpointManager checkpoints(job_.coordinator, directory.path());
  for (int key = 0; key < 5; ++key) Schedule(key);
  Schedule(6);
  job_.coordinator.Join();
  checkpoints.Save();
  checkpoints.Wait();
  for (const int key : {5, 7, 8}) Schedule(key);
  job_.coordinator.Join();
  FailHalfWay(9);
  checkpoints.Restore();
  EXPECT_EQ(job_.coordinator.FirstIncomplete().value, 5u);
  EXPECT_TRUE(IsComplete(6));
  ExpectCounts(6, 6);
  // They are done again, and count again.
  for (const int key : {5, 7, 8, 9}) {
    EXPECT_FALSE(IsComplete(static_cast<std::uint64_t>(key)));
    Schedule(key);
  }
  job_.coordinator.Join();
  EXPECT_EQ(job_.coordinator.FirstIncomplete().value, 10u);
  ExpectCounts(10, 10);
}

TEST_F(StepKeysTest, NothingIsSavedThatHasHalfAStep) {
  const testing::TempDir directory;
  CheckpointManager checkpoints(job_.coordinator, directory.path());
  Schedule(0);
  job_.coordinator.Join();
  FailHalfWay(1);
  EXPECT_THAT(ErrorOf([&] { checkpoints.Save(); }),
              IsError(ErrorCode::kFailedPrecondition, HasSubstr("step key 1")));
  Schedule(1);
  // It waits for that one.
  checkpoints.Save();
  checkpoints.Wait();
  ExpectCounts(2, 2);
  FailHalfWay(2);
  checkpoints.Restore();
  EXPECT_EQ(job_.coordinator.FirstIncomplete().value, 2u);
  ExpectCounts(2, 2);
}

}  // namespace
}  // namespace capstan

// Synchronous Fit: the same bits, whatever the number of workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/linear_model.h"
#include "train/linear_reference.h"

namespace capstan {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::IsError;
using testing::PlaneBatches;
using testing::TrainJob;

const Adam kAdam{.learning_rate = 0.05};

class SyncFitTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Workers, SyncFitTest, ::testing::Values(1, 2, 4));

TEST_P(SyncFitTest, IsBitwiseWhatOneProcessComputes) {
  constexpr int kReplicas = 3;
  TrainJob job(
      PlaneBatches(203, 8),
      {.workers = GetParam(),
       .trainer = {.optimizer = kAdam, .update = Sync{.replicas = kReplicas}}});
  job.trainer().Fit(job.data, TrainJob::Quiet({.epochs = 3}));
  testing::LinearReference reference(kAdam);
  const ExampleTable table = ExampleTable::Open(PlaneBatches(203, 8));
  for (int epoch = 0; epoch < 3; ++epoch) reference.Epoch(table, kReplicas);
  EXPECT_EQ(job.job().Floats("linear/w"), reference.w.values());
  EXPECT_EQ(job.job().Floats("linear/b"), reference.b.values());
  // Steps are batches: 26 of them, in 9 rounds.
  EXPECT_EQ(job.trainer().iterations(), 3 * 26);
}

TEST(SyncFitTest, AStepIsOnePartOfARound) {
  TrainJob job(PlaneBatches(80, 8),
               {.trainer = {.update = Sync{.replicas = 2}}});
  EXPECT_THAT(
      ErrorOf([&] {
        job.trainer().Fit(job.data,
                          TrainJob::Quiet({.steps_per_execution = 2}));
      }),
      IsError(ErrorCode::kInvalidArgument, HasSubstr("steps_per_execution")));
}

TEST(SyncFitTest, BackupsDoNotHoldItUp) {
  TrainJob job(PlaneBatches(96, 8),
               {.workers = 3,
                .trainer = {.optimizer = Sgd{.learning_rate = 0.05},
                            .update = Sync{.replicas = 2, .backup = 1}}});
  const History history =
      job.trainer().Fit(job.data, TrainJob::Quiet({.epochs = 3}));
  EXPECT_EQ(job.trainer().iterations(), 36);
  EXPECT_LT(history["loss"][2], history["loss"][0]);
}

TEST(SyncFitTest, BoundedStalenessTrainsToo) {
  TrainJob job(
      PlaneBatches(96, 8),
      {.workers = 3,
       .trainer = {.optimizer = Sgd{.learning_rate = 0.05},
                   .update = BoundedStaleness{.replicas = 3, .bound = 1}}});
  const History history =
      job.trainer().Fit(job.data, TrainJob::Quiet({.epochs = 3}));
  EXPECT_EQ(job.trainer().iterations(), 36);
  EXPECT_LT(history["loss"][2], history["loss"][0]);
}

TEST(SyncFitTest, AFailingStepEndsIt) {
  TrainJob job(PlaneBatches(200, 8),
               {.trainer = {.update = Sync{.replicas = 2}}});
  EXPECT_THAT(ErrorOf([&] {
                job.trainer().Fit(job.data, TrainJob::Quiet({.input = "z"}));
              }),
              IsError(ErrorCode::kNotFound, HasSubstr("z")));
}

}  // namespace
}  // namespace capstan

// Fit: steps, epochs, weights and failures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "train/linear_model.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::IsError;
using testing::PlaneBatches;
using ::testing::SizeIs;
using testing::TrainJob;

std::int64_t IterationsOnServers(TrainJob& job) {
  return job.job().Count("linear/iterations");
}

TEST(FitTest, TrainsOnEveryBatchOfEveryEpoch) {
  TrainJob job(PlaneBatches(100, 8));
  const History history =
      job.trainer().Fit(job.data, TrainJob::Quiet({.epochs = 3}));
  EXPECT_EQ(job.trainer().iterations(), 3 * 13);
  EXPECT_EQ(IterationsOnServers(job), 3 * 13);
  EXPECT_THAT(history.epochs(), ElementsAre(0, 1, 2));
  EXPECT_THAT(history["loss"], SizeIs(3));
  EXPECT_LT(history["loss"][2], history["loss"][0]);
}

TEST(FitTest, GoesOnWhereItWas) {
  TrainJob job(PlaneBatches(100, 8));
  job.trainer().Fit(job.data, TrainJob::Quiet({.epochs = 2}));
  const History more = job.trainer().Fit(
      job.data, TrainJob::Quiet({.epochs = 5, .initial_epoch = 2}));
  EXPECT_THAT(more.epochs(), ElementsAre(2, 3, 4));
  EXPECT_EQ(job.trainer().iterations(), 5 * 13);
}

// Both hold the watermark, so they are not under way at once.
TEST(FitTest, StepsWithKeysAreCompleteBeforeItAndNotScheduledDuringIt) {
  TrainJob job(PlaneBatches(100, 8));
  std::atomic<bool> fails = true;
  const auto step = job.definitions.AddFunction("step", [&] {
    if (fails) throw Error(ErrorCode::kDataLoss, "not yet");
  });
  Trainer& trainer = job.trainer();
  ClusterCoordinator& coordinator = job.job().coordinator;
  trainer.Fit(job.data, TrainJob::Quiet({.epochs = 1}));
  coordinator.Schedule(StepKey{0}, step);
  EXPECT_THROW(coordinator.Join(), Error);
  EXPECT_THAT(
      ErrorOf([&] { trainer.Fit(job.data, TrainJob::Quiet({.epochs = 1})); }),
      IsError(ErrorCode::kFailedPrecondition, HasSubstr("step key 0")));
  fails = false;
  coordinator.Schedule(StepKey{0}, step);
  coordinator.Join();
  const auto schedule = [&](std::int64_t, Logs&) {
    EXPECT_THAT(
        ErrorOf([&] { coordinator.Schedule(StepKey{1}, step); }),
        IsError(ErrorCode::kFailedPrecondition, HasSubstr("is training")));
  };
  trainer.Fit(
      job.data,
      TrainJob::Quiet(
          {.epochs = 1,
           .callbacks = {LambdaCallback({.on_train_batch_end = schedule})}}));
  EXPECT_EQ(IterationsOnServers(job), 2 * 13);
  coordinator.Schedule(StepKey{1}, step).Fetch();
  EXPECT_EQ(coordinator.FirstIncomplete().value, 2u);
}

TEST(FitTest, CountsBatchesNotExecutions) {
  TrainJob job(PlaneBatches(100, 4).Repeat());
  job.trainer().Fit(job.data, TrainJob::Quiet({.epochs = 2,
                                               .steps_per_epoch = 25,
                                               .steps_per_execution = 10}));
  EXPECT_EQ(job.trainer().iterations(), 50);
  EXPECT_EQ(IterationsOnServers(job), 50);
}

TEST(FitTest, WholeEpochsWithSeveralStepsPerExecution) {
  TrainJob job(PlaneBatches(100, 8));
  job.trainer().Fit(job.data,
                    TrainJob::Quiet({.epochs = 2, .steps_per_execution = 5}));
  EXPECT_EQ(job.trainer().iterations(), 26);
}

TEST(FitTest, MetricsAreThoseOfTheBatchesAsTheyWere) {
  // One worker and one server: what each step reads is known.
  TrainJob job(PlaneBatches(24, 8),
               {.workers = 1,
                .servers = 1,
                .trainer = {.optimizer = Sgd{.learning_rate = 0.0},
                            .metrics = {MeanSquaredErrorMetric{},
                                        MeanAbsoluteErrorMetric{}}}});
  const History history =
      job.trainer().Fit(job.data, TrainJob::Quiet({.epochs = 1}));
  const auto evaluated =
      job.trainer().Evaluate(job.data, {.verbose = Verbose::kSilent});
  EXPECT_DOUBLE_EQ(history["loss"][0], evaluated.at("loss"));
  EXPECT_DOUBLE_EQ(history["mean_squared_error"][0], evaluated.at("loss"));
  EXPECT_DOUBLE_EQ(history["mean_absolute_error"][0],
                   evaluated.at("mean_absolute_error"));
}

// One step on one batch, by hand.
std::vector<float> StepByHand(const Example& batch,
                              const std::vector<float>& weights) {
  const std::vector<float> w(testing::kFeatures);
  const std::vector<float> b = {0.5f};
  const auto gradient = testing::GradientOf(
      testing::PredictLinear(w, b, batch["x"]), weights, batch);
  std::vector<float> result;
  for (std::size_t f = 0; f < w.size(); ++f) {
    result.push_back(w[f] - 0.25f * gradient.w[f]);
  }
  return result;
}

TrainJob::Options OneStep() {
  return {.workers = 1,
          .servers = 1,
          .trainer = {.optimizer = Sgd{.learning_rate = 0.25}}};
}

TEST(FitTest, ClassWeightsWeighTheExamples) {
  Example plane = testing::Plane(8);
  std::vector<float> classes = {0, 1, 2, 1, 0, 2, 2, 1};
  const Example batch(
      {{"x", plane["x"]}, {"y", Tensor::FromValues({8}, classes)}});
  TrainJob job(Dataset::FromTensors(batch).Batch(8), OneStep());
  const History history = job.trainer().Fit(
      job.data, TrainJob::Quiet({.class_weights = {{1, 3.0}, {2, 0.5}}}));
  EXPECT_EQ(job.job().Floats("linear/w"),
            StepByHand(batch, {1, 3, 0.5, 3, 1, 0.5, 0.5, 3}));
  // And the loss: (1 * 0.5^2 * 2 + 3 * 0.5^2 * 3 + 0.5 * 1.5^2 * 3) / 12.5.
  EXPECT_DOUBLE_EQ(history["loss"][0], (0.5 + 2.25 + 3.375) / 12.5);
}

TEST(FitTest, SampleWeightsAreAColumnOfTheData) {
  const Example plane = testing::Plane(4);
  const Tensor weights = Tensor::FromValues({4}, {1.0f, 0.0f, 2.0f, 0.5f});
  const Example batch({{"x", plane["x"]}, {"y", plane["y"]}, {"how", weights}});
  TrainJob job(Dataset::FromTensors(batch).Batch(4), OneStep());
  job.trainer().Fit(job.data, TrainJob::Quiet({.sample_weight = "how"}));
  EXPECT_EQ(job.job().Floats("linear/w"), StepByHand(batch, {1, 0, 2, 0.5}));
}

TEST(FitTest, WhatAStepThrowsIsThrown) {
  TrainJob job(PlaneBatches(100, 8));
  const Error error = ErrorOf(
      [&] { job.trainer().Fit(job.data, TrainJob::Quiet({.target = "z"})); });
  EXPECT_THAT(error,
              IsError(ErrorCode::kNotFound,
                      AllOf(HasSubstr("linear/train_range"), HasSubstr("z"))));
  // And all is as before.
  job.trainer().Fit(job.data, TrainJob::Quiet({}));
  EXPECT_EQ(job.trainer().iterations(), 13);
}

TEST(FitTest, AModelHasOneTrainer) {
  TrainJob job(PlaneBatches(100, 8));
  job.trainer();
  const Error error =
      ErrorOf([&] { Trainer second(job.job().local.cluster(), job.model); });
  EXPECT_THAT(error, IsError(ErrorCode::kAlreadyExists,
                             HasSubstr("the model 'linear' has a Trainer")));
}

TEST(FitTest, OptionsThatMakeNoSenseAreNamed) {
  TrainJob job(PlaneBatches(100, 8));
  const auto refused = [&](FitOptions options, const std::string& why) {
    options.verbose = Verbose::kSilent;
    EXPECT_THAT(ErrorOf([&] { job.trainer().Fit(job.data, options); }),
                IsError(ErrorCode::kInvalidArgument, HasSubstr(why)));
  };
  refused({.epochs = -1}, "epochs must not be negative");
  refused({.steps_per_epoch = 0}, "steps_per_epoch must be at least 1");
  refused({.steps_per_execution = 0}, "steps_per_execution");
  refused({.validation_split = 1.0}, "validation_split");
  refused({.validation_data = job.data, .validation_split = 0.5},
          "exclude one another");
  refused({.steps_per_epoch = 3, .validation_split = 0.5}, "whole epochs");
  refused({.validation_freq = 0}, "validation_freq");
  refused({.validation_split = 0.999}, "nothing to train on");
  TrainJob one(PlaneBatches(8, 8));
  EXPECT_THAT(ErrorOf([&] {
                one.trainer().Fit(one.data,
                                  TrainJob::Quiet({.validation_split = 1e-9}));
              }),
              IsError(ErrorCode::kInvalidArgument,
                      HasSubstr("leaves nothing to train on")));
}

}  // namespace
}  // namespace capstan

// The learning rate is changed on the servers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optimizer/updater.h"
#include "train/linear_model.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::IsError;
using testing::Job;
using testing::PlaneBatches;
using testing::TrainJob;

TEST(LearningRateTest, AnotherRateAndTheSameSlots) {
  Definitions definitions;
  const auto push = definitions.AddFunction(
      "push", [](WorkerContext& worker, const Tensor& gradient) {
        worker.ApplyGradients({{"v", gradient}});
      });
  Job job(definitions, 2, 2);
  job.coordinator.CreateVariables(
      {{.name = "v", .shape = {4}, .optimizer = Adam{.learning_rate = 0.1}}},
      FixedShards(2));
  // What the arithmetic of the optimizer gives with these rates.
  std::vector<float> values(4);
  OptimizerState state;
  std::vector<std::vector<float>> slots(2, std::vector<float>(4));
  const std::vector<float> gradient = {1, -2, 0.5, 3};
  const auto expect = [&](double rate) {
    const auto updater = *Updater::Make(Adam{.learning_rate = rate});
    DenseUpdate update;
    update.gradient = std::as_bytes(std::span(gradient)).data();
    update.size = 4;
    update.value_in = update.value_out = values.data();
    for (std::size_t s = 0; s < 2; ++s) {
      update.slots_in[s] = update.slots_out[s] = slots[s].data();
    }
    updater->Dense(updater->Begin(state, 1, 0), update);
    updater->Advance(state);
  };
  for (const double rate : {0.1, 0.02, 0.5}) {
    job.coordinator.SetLearningRate({"v"}, rate);
    for (int i = 0; i < 3; ++i) {
      job.coordinator.Schedule(push, Tensor::FromValues({4}, gradient));
      expect(rate);
    }
    job.coordinator.Join();
    EXPECT_EQ(job.Floats("v"), values) << rate;
  }
}

TEST(LearningRateTest, AScheduleIsARate) {
  Definitions definitions;
  const auto push = definitions.AddFunction("push", [](WorkerContext& worker) {
    worker.ApplyGradients({{"v", Tensor::Scalar(1.0f)}});
  });
  Job job(definitions);
  job.coordinator.CreateVariables(
      {{.name = "v", .shape = {}, .optimizer = Sgd{.learning_rate = 1.0}}});
  job.coordinator.SetLearningRate(
      {"v"}, PiecewiseConstant{.boundaries = {0}, .values = {2.0, 8.0}});
  job.coordinator.Schedule(push);
  job.coordinator.Schedule(push);
  job.coordinator.Join();
  EXPECT_THAT(job.Floats("v"), ElementsAre(-10.0f));
}

TEST(LearningRateTest, WhatCannotBeIsRefused) {
  Job job({});
  job.coordinator.CreateVariables(
      {{.name = "v", .shape = {}, .optimizer = Sgd{}},
       {.name = "n", .shape = {}}});
  const auto set = [&](const std::string& name, double rate) {
    return ErrorOf([&] { job.coordinator.SetLearningRate({name}, rate); });
  };
  EXPECT_THAT(set("w", 0.1), IsError(ErrorCode::kNotFound, HasSubstr("w")));
  EXPECT_THAT(set("n", 0.1), IsError(ErrorCode::kFailedPrecondition,
                                     HasSubstr("no optimizer")));
  EXPECT_THAT(set("v", -1.0),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("learning_rate")));
}

TEST(LearningRateTest, ASchedulerChangesWhatTheServersDo) {
  // With the rate 0 nothing moves.
  TrainJob job(PlaneBatches(80, 8));
  std::vector<std::vector<float>> after;
  const History history = job.trainer().Fit(
      job.data,
      TrainJob::Quiet(
          {.epochs = 3,
           .callbacks = {LearningRateScheduler([](int epoch, double rate) {
                           return epoch == 1 ? 0.0 : rate + 0.01;
                         }),
                         LambdaCallback({.on_epoch_end = [&](int, Logs&) {
                           after.push_back(job.job().Floats("linear/w"));
                         }})}}));
  EXPECT_EQ(after[1], after[0]);
  EXPECT_NE(after[2], after[1]);
  EXPECT_THAT(history["learning_rate"],
              ElementsAre(0.05 + 0.01, 0.0, 0.0 + 0.01));
  EXPECT_EQ(job.trainer().learning_rate(), 0.01);
}

TEST(LearningRateTest, APlateauReducesIt) {
  // Without any learning there is no progress.
  TrainJob job(PlaneBatches(80, 8),
               {.trainer = {.optimizer = Sgd{.learning_rate = 1e-12}}});
  const History history = job.trainer().Fit(
      job.data, TrainJob::Quiet(
                    {.epochs = 6,
                     .callbacks = {ReduceLROnPlateau(
                         {.monitor = "loss", .factor = 0.5, .patience = 2})}}));
  EXPECT_THAT(history["learning_rate"],
              ElementsAre(1e-12, 1e-12, 1e-12, 5e-13, 5e-13, 2.5e-13));
}

}  // namespace
}  // namespace capstan

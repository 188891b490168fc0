// What Fit, Evaluate and Predict call, and when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "train/linear_model.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::IsError;
using testing::PlaneBatches;
using testing::Series;
using ::testing::SizeIs;
using testing::TrainJob;

// Writes down each call.
class Recorder : public Callback {
 public:
  std::string Name() const override { return "Recorder"; }
  void OnTrainBegin(Logs&) override { calls.push_back("TrainBegin"); }
  void OnTrainEnd(Logs&) override { calls.push_back("TrainEnd"); }
  void OnEpochBegin(int epoch, Logs&) override { Add("EpochBegin", epoch); }
  void OnEpochEnd(int epoch, Logs& logs) override {
    Add("EpochEnd", epoch);
    last = logs;
  }
  void OnTrainBatchBegin(std::int64_t batch, Logs&) override {
    Add("BatchBegin", batch);
  }
  void OnTrainBatchEnd(std::int64_t batch, Logs&) override {
    Add("BatchEnd", batch);
  }
  void OnTestBegin(Logs&) override { calls.push_back("TestBegin"); }
  void OnTestEnd(Logs&) override { calls.push_back("TestEnd"); }
  void OnTestBatchBegin(std::int64_t batch, Logs&) override {
    Add("TestBatchBegin", batch);
  }
  void OnTestBatchEnd(std::int64_t batch, Logs&) override {
    Add("TestBatchEnd", batch);
  }
  void OnPredictBegin(Logs&) override { calls.push_back("PredictBegin"); }
  void OnPredictEnd(Logs&) override { calls.push_back("PredictEnd"); }
  void OnPredictBatchBegin(std::int64_t batch, Logs&) override {
    Add("PredictBatchBegin", batch);
  }
  void OnPredictBatchEnd(std::int64_t batch, Logs&) override {
    Add("PredictBatchEnd", batch);
  }

  std::vector<std::string> calls;
  Logs last;

 private:
  void Add(const std::string& hook, std::int64_t number) {
    calls.push_back(hook + std::to_string(number));
  }
};

TEST(FitCallbacksTest, AreCalledInTheOrderOfKeras) {
  TrainJob job(PlaneBatches(24, 8), {.workers = 2});
  const DatasetHandle other = job.AddData("other", PlaneBatches(8, 4));
  const auto recorder = std::make_shared<Recorder>();
  job.trainer().Fit(job.data, TrainJob::Quiet({.epochs = 2,
                                               .validation_data = other,
                                               .validation_freq = 2,
                                               .callbacks = {recorder}}));
  EXPECT_THAT(
      recorder->calls,
      ElementsAre("TrainBegin", "EpochBegin0", "BatchBegin0", "BatchEnd0",
                  "BatchBegin1", "BatchEnd1", "BatchBegin2", "BatchEnd2",
                  "EpochEnd0", "EpochBegin1", "BatchBegin0", "BatchEnd0",
                  "BatchBegin1", "BatchEnd1", "BatchBegin2", "BatchEnd2",
                  "TestBegin", "TestBatchBegin0", "TestBatchEnd0",
                  "TestBatchBegin1", "TestBatchEnd1", "TestEnd", "EpochEnd1",
                  "TrainEnd"));
  EXPECT_THAT(recorder->last, SizeIs(2));
}

TEST(FitCallbacksTest, AnExecutionIsOneBatchToThem) {
  TrainJob job(PlaneBatches(40, 8), {.workers = 2});
  const auto recorder = std::make_shared<Recorder>();
  job.trainer().Fit(job.data, TrainJob::Quiet({.callbacks = {recorder},
                                               .steps_per_execution = 2}));
  EXPECT_THAT(recorder->calls,
              ElementsAre("TrainBegin", "EpochBegin0", "BatchBegin1",
                          "BatchEnd1", "BatchBegin3", "BatchEnd3",
                          "BatchBegin4", "BatchEnd4", "EpochEnd0", "TrainEnd"));
}

TEST(FitCallbacksTest, OfEvaluateAndPredict) {
  TrainJob job(PlaneBatches(16, 8));
  const auto recorder = std::make_shared<Recorder>();
  job.trainer().Evaluate(
      job.data, {.callbacks = {recorder}, .verbose = Verbose::kSilent});
  job.trainer().Predict(job.data, {.callbacks = {recorder}});
  EXPECT_THAT(
      recorder->calls,
      ElementsAre("TestBegin", "TestBatchBegin0", "TestBatchEnd0",
                  "TestBatchBegin1", "TestBatchEnd1", "TestEnd", "PredictBegin",
                  "PredictBatchBegin0", "PredictBatchEnd0",
                  "PredictBatchBegin1", "PredictBatchEnd1", "PredictEnd"));
}

TEST(FitCallbacksTest, OneThatThrowsIsNamedAndAllIsCounted) {
  TrainJob job(PlaneBatches(800, 8));
  const Error error = ErrorOf([&] {
    job.trainer().Fit(
        job.data,
        TrainJob::Quiet(
            {.callbacks = {LambdaCallback(
                 {.on_train_batch_end = [](std::int64_t batch, Logs&) {
                   if (batch == 3) {
                     throw std::runtime_error("enough");
                   }
                 }})}}));
  });
  EXPECT_THAT(
      error, IsError(ErrorCode::kUnknown,
                     AllOf(HasSubstr("the callback LambdaCallback"),
                           HasSubstr("OnTrainBatchEnd"), HasSubstr("enough"))));
  // All that was handed out was waited for, and it is not much.
  EXPECT_GE(job.trainer().iterations(), 4);
  EXPECT_LT(job.trainer().iterations(), 100);
  EXPECT_EQ(job.job().Count("linear/iterations"), job.trainer().iterations());
}

TEST(FitCallbacksTest, StopsInTheMiddleOfAnEpoch) {
  TrainJob job(PlaneBatches(8'000, 8));
  const auto recorder = std::make_shared<Recorder>();
  Trainer& trainer = job.trainer();
  const History history = trainer.Fit(
      job.data,
      TrainJob::Quiet(
          {.epochs = 5,
           .callbacks = {recorder,
                         LambdaCallback({.on_train_batch_end =
                                             [&](std::int64_t batch, Logs&) {
                                               if (batch == 5) {
                                                 trainer.StopTraining();
                                               }
                                             }})}}));
  EXPECT_THAT(history.epochs(), ElementsAre(0));
  EXPECT_LT(trainer.iterations(), 100);
  EXPECT_EQ(recorder->calls.back(), "TrainEnd");
}

TEST(FitCallbacksTest, HaveNoTrainerOutsideOfTheirHooks) {
  class Curious : public Callback {
   public:
    std::string Name() const override { return "Curious"; }
    void Look() const { trainer(); }
  };
  EXPECT_THAT(ErrorOf([] { Curious().Look(); }),
              IsError(ErrorCode::kFailedPrecondition, HasSubstr("Curious")));
}

TEST(EarlyStoppingTest, StopsWhenItDoesNotGetBetter) {
  TrainJob job(PlaneBatches(16, 8));
  const auto stopping = std::make_shared<EarlyStopping>(
      EarlyStoppingOptions{.monitor = "made", .min_delta = 0.1, .patience = 2});
  const History history = job.trainer().Fit(
      job.data,
      TrainJob::Quiet(
          {.epochs = 9,
           .callbacks = {Series("made", {3, 2, 2.5, 1.5, 1.45, 1.6, 0, 0, 0}),
                         stopping}}));
  EXPECT_THAT(history.epochs(), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(stopping->stopped_epoch(), 5);
  EXPECT_EQ(stopping->best_epoch(), 3);
}

TEST(EarlyStoppingTest, MoreIsBetterForAccuracies) {
  TrainJob job(PlaneBatches(16, 8));
  const History history = job.trainer().Fit(
      job.data,
      TrainJob::Quiet(
          {.epochs = 9,
           .callbacks = {
               Series("val_accuracy", {1, 2, 3, 2, 2, 2, 2, 2, 2}),
               EarlyStopping({.monitor = "val_accuracy", .patience = 1})}}));
  EXPECT_THAT(history.epochs(), ElementsAre(0, 1, 2, 3));
}

TEST(EarlyStoppingTest, RestoresTheBestWeights) {
  TrainJob job(PlaneBatches(16, 8));
  std::vector<std::vector<float>> after;
  job.trainer().Fit(
      job.data,
      TrainJob::Quiet(
          {.epochs = 9,
           .callbacks = {Series("made", {3, 2, 5, 6, 7, 0, 0, 0, 0}),
                         LambdaCallback({.on_epoch_end =
                                             [&](int, Logs&) {
                                               after.push_back(job.job().Floats(
                                                   "linear/w"));
                                             }}),
                         EarlyStopping({.monitor = "made",
                                        .patience = 2,
                                        .restore_best_weights = true})}}));
  ASSERT_THAT(after, SizeIs(4));
  EXPECT_NE(after[1], after[3]);
  EXPECT_EQ(job.job().Floats("linear/w"), after[1]);
  EXPECT_EQ(job.trainer().iterations(), 8);
}

TEST(EarlyStoppingTest, WantsTheBaselineInTime) {
  TrainJob job(PlaneBatches(16, 8));
  const History history = job.trainer().Fit(
      job.data, TrainJob::Quiet(
                    {.epochs = 9,
                     .callbacks = {Series("made", {9, 8, 7, 6, 5, 4, 3, 2, 1}),
                                   EarlyStopping({.monitor = "made",
                                                  .patience = 3,
                                                  .baseline = 0.5})}}));
  EXPECT_THAT(history.epochs(), ElementsAre(0, 1, 2));
}

TEST(EarlyStoppingTest, DoesNotLookBeforeItsEpoch) {
  TrainJob job(PlaneBatches(16, 8));
  const History history = job.trainer().Fit(
      job.data, TrainJob::Quiet(
                    {.epochs = 9,
                     .callbacks = {Series("made", {1, 2, 3, 4, 5, 6, 7, 8, 9}),
                                   EarlyStopping({.monitor = "made",
                                                  .patience = 1,
                                                  .start_from_epoch = 4})}}));
  EXPECT_THAT(history.epochs(), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(EarlyStoppingTest, NamesWhatIsNotMeasuredOnce) {
  TrainJob job(PlaneBatches(16, 8));
  ::testing::internal::CaptureStderr();
  const History history = job.trainer().Fit(
      job.data, TrainJob::Quiet({.epochs = 3, .callbacks = {EarlyStopping()}}));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "warning: EarlyStopping: it watches 'val_loss', which is not "
            "measured; there is loss; it does nothing until it is\n");
  EXPECT_THAT(history.epochs(), SizeIs(3));
}

TEST(EarlyStoppingTest, WaitsForWhatIsNotYetMeasured) {
  TrainJob job(PlaneBatches(16, 8));
  const DatasetHandle other = job.AddData("other", PlaneBatches(8, 4));
  const auto stopping = std::make_shared<EarlyStopping>(
      EarlyStoppingOptions{.monitor = "val_loss", .patience = 1});
  const auto worse = LambdaCallback({.on_epoch_end = [](int epoch, Logs& logs) {
    if (logs.contains("val_loss")) logs["val_loss"] = epoch;
  }});
  job.trainer().Fit(job.data,
                    TrainJob::Quiet({.epochs = 9,
                                     .validation_data = other,
                                     .validation_freq = 2,
                                     .callbacks = {worse, stopping}}));
  EXPECT_EQ(stopping->best_epoch(), 1);
  EXPECT_EQ(stopping->stopped_epoch(), 3);
}

TEST(EarlyStoppingTest, WhatIsNoNumberIsNeverTheBest) {
  TrainJob job(PlaneBatches(16, 8));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto stopping = std::make_shared<EarlyStopping>(
      EarlyStoppingOptions{.monitor = "made", .patience = 2});
  job.trainer().Fit(
      job.data,
      TrainJob::Quiet(
          {.epochs = 9,
           .callbacks = {Series("made", {nan, 5, 4, 3, 2, nan, nan, 1, 0}),
                         stopping}}));
  EXPECT_EQ(stopping->best_epoch(), 4);
  EXPECT_EQ(stopping->stopped_epoch(), 6);
}

TEST(ReduceLROnPlateauTest, WaitsForNumbers) {
  TrainJob job(PlaneBatches(16, 8));
  const DatasetHandle other = job.AddData("other", PlaneBatches(8, 4));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> values = {0, nan, 0, 4, 0, 3, 0, 2, 0, 2};
  const auto made = LambdaCallback({.on_epoch_end = [&](int epoch, Logs& logs) {
    if (!logs.contains("val_loss")) return;
    logs["val_loss"] = values[static_cast<std::size_t>(epoch)];
  }});
  const History history = job.trainer().Fit(
      job.data, TrainJob::Quiet(
                    {.epochs = 10,
                     .validation_data = other,
                     .validation_freq = 2,
                     .callbacks = {made, ReduceLROnPlateau({.patience = 2})}}));
  // Of three that get better after what is none, and one that does not.
  EXPECT_THAT(history["learning_rate"], ::testing::Each(0.05));
  EXPECT_EQ(job.trainer().learning_rate(), 0.05);
}

TEST(TerminateOnNaNTest, StopsAtOnce) {
  TrainJob job(PlaneBatches(8'000, 8));
  const History history = job.trainer().Fit(
      job.data,
      TrainJob::Quiet(
          {.epochs = 3,
           .callbacks = {
               LambdaCallback(
                   {.on_train_batch_end =
                        [](std::int64_t batch, Logs& logs) {
                          if (batch < 3) return;
                          logs["loss"] =
                              std::numeric_limits<double>::quiet_NaN();
                        }}),
               TerminateOnNaN()}}));
  EXPECT_THAT(history.epochs(), ElementsAre(0));
  EXPECT_LT(job.trainer().iterations(), 100);
}

}  // namespace
}  // namespace capstan

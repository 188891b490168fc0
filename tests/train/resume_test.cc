// A Fit that is cut off, and goes on from its checkpoints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>

#include "testing/temp_dir.h"
#include "train/linear_model.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsError;
using testing::PlaneBatches;
using ::testing::SizeIs;
using testing::TempDir;
using testing::TrainJob;

constexpr int kEpochs = 4;
constexpr int kExamples = 240;  // 30 batches of 8

// Throws in OnTrainBatchEnd, once so many batches have ended in all.
class CutOff : public Callback {
 public:
  explicit CutOff(int batches) : left_(batches) {}
  void OnTrainBatchEnd(std::int64_t, Logs&) override {
    if (--left_ == 0) throw std::runtime_error("cut off");
  }

 private:
  int left_;
};

FitOptions Saving(const std::string& directory, std::int64_t every_steps) {
  FitOptions options;
  options.epochs = kEpochs;
  options.verbose = Verbose::kSilent;
  options.checkpoint.directory = directory;
  options.checkpoint.every_steps = every_steps;
  return options;
}

TrainJob::Options JobOptions(bool sync) {
  TrainJob::Options options;
  // With one worker the order of asynchronous steps is known too.
  options.workers = sync ? 3 : 1;
  options.servers = 2;
  options.trainer.optimizer = Adam{.learning_rate = 0.05};
  options.trainer.metrics = {RootMeanSquaredError{}};
  if (sync) options.trainer.update = Sync{.replicas = 3};
  return options;
}

class ResumeTest
    : public ::testing::TestWithParam<std::tuple<bool, std::int64_t, int>> {};

TEST_P(ResumeTest, IsAsIfItHadNeverStopped) {
  const auto [sync, every_steps, cut] = GetParam();
  const TempDir dir;
  TrainJob whole(PlaneBatches(kExamples, 8), JobOptions(sync));
  FitOptions plain;
  plain.epochs = kEpochs;
  plain.verbose = Verbose::kSilent;
  const History all = whole.trainer().Fit(whole.data, plain);

  {
    TrainJob first(PlaneBatches(kExamples, 8), JobOptions(sync));
    FitOptions options = Saving(dir / "ckpt", every_steps);
    options.callbacks = {CutOff(cut)};
    EXPECT_THAT(ErrorOf([&] { first.trainer().Fit(first.data, options); }),
                IsError(ErrorCode::kUnknown, HasSubstr("cut off")));
  }
  // On another number of servers.
  TrainJob::Options others = JobOptions(sync);
  others.servers = 3;
  TrainJob second(PlaneBatches(kExamples, 8), others);
  const History history =
      second.trainer().Fit(second.data, Saving(dir / "ckpt", every_steps));
  EXPECT_EQ(second.trainer().iterations(), kEpochs * kExamples / 8);
  EXPECT_EQ(second.trainer().Values(), whole.trainer().Values());
  EXPECT_EQ(history.epochs(), all.epochs());
  EXPECT_EQ(history.series(), all.series());
}

INSTANTIATE_TEST_SUITE_P(
    Cuts, ResumeTest,
    ::testing::Values(std::tuple(false, 7, 1), std::tuple(false, 7, 38),
                      std::tuple(false, 0, 95), std::tuple(true, 7, 38),
                      std::tuple(true, 1, 61), std::tuple(true, 4, 119)));

TEST(ResumeTest, WhatIsDoneIsNotDoneAgain) {
  const TempDir dir;
  TrainJob first(PlaneBatches(kExamples, 8));
  const History all = first.trainer().Fit(first.data, Saving(dir / "ckpt", 0));
  TrainJob second(PlaneBatches(kExamples, 8));
  std::ostringstream said;
  FitOptions options = Saving(dir / "ckpt", 0);
  options.verbose = Verbose::kLinePerEpoch;
  options.terminal.warnings = &said;
  const History again = second.trainer().Fit(second.data, options);
  EXPECT_EQ(again.series(), all.series());
  EXPECT_EQ(second.trainer().Values(), first.trainer().Values());
  EXPECT_THAT(said.str(), HasSubstr("all 4 epochs are done: in " +
                                    (dir / "ckpt") + "/ckpt-5"));
  // And more epochs are more.
  TrainJob third(PlaneBatches(kExamples, 8));
  options.epochs = kEpochs + 1;
  third.trainer().Fit(third.data, options);
  EXPECT_EQ(third.trainer().iterations(), (kEpochs + 1) * kExamples / 8);
}

TEST(ResumeTest, CallbacksGoOnWithWhatTheyRemember) {
  const TempDir dir;
  // Nothing ever gets better than in the first epoch.
  const auto worse = LambdaCallback(
      {.on_epoch_end = [](int epoch, Logs& logs) { logs["x"] = epoch; }});
  EarlyStoppingOptions patience;
  patience.monitor = "x";
  patience.mode = MonitorMode::kMin;
  patience.patience = 3;
  {
    TrainJob first(PlaneBatches(kExamples, 8));
    FitOptions options = Saving(dir / "ckpt", 0);
    options.epochs = 10;
    options.callbacks = {worse, EarlyStopping(patience), CutOff(70)};
    ErrorOf([&] { first.trainer().Fit(first.data, options); });
  }
  TrainJob second(PlaneBatches(kExamples, 8));
  FitOptions options = Saving(dir / "ckpt", 0);
  options.epochs = 10;
  options.callbacks = {worse, EarlyStopping(patience)};
  const History history = second.trainer().Fit(second.data, options);
  EXPECT_THAT(history.epochs(), ElementsAre(0, 1, 2, 3));
}

TEST(ResumeTest, ModelCheckpointKeepsTheBest) {
  const TempDir dir;
  TrainJob job(PlaneBatches(kExamples, 8));
  const std::vector<double> series = {3, 1, 2, 5};
  ModelCheckpointOptions options;
  options.monitor = "x";
  options.mode = MonitorMode::kMin;
  options.save_best_only = true;
  options.max_to_keep = 1;
  const auto best = std::make_shared<ModelCheckpoint>(dir / "best", options);
  job.trainer().Fit(
      job.data,
      TrainJob::Quiet(
          {.epochs = 4,
           .callbacks = {LambdaCallback(
                             {.on_epoch_end =
                                  [&](int epoch, Logs& logs) {
                                    logs["x"] =
                                        series[static_cast<std::size_t>(epoch)];
                                  }}),
                         best}}));
  EXPECT_EQ(best->last_path(), (dir / "best") + "/ckpt-2");
  TrainJob other(PlaneBatches(kExamples, 8));
  CheckpointManager manager(other.trainer().coordinator(), dir / "best");
  EXPECT_THAT(manager.checkpoints(), ElementsAre("ckpt-2"));
  other.trainer().RestoreCheckpoint(manager);
  EXPECT_EQ(other.trainer().iterations(), 2 * kExamples / 8);
}

TEST(ResumeTest, SavingInTheMiddleOfRoundsDoesNotChangeThem) {
  const TempDir dir;
  TrainJob plain(PlaneBatches(kExamples, 8), JobOptions(true));
  plain.trainer().Fit(plain.data, TrainJob::Quiet({.epochs = 2}));
  TrainJob saved(PlaneBatches(kExamples, 8), JobOptions(true));
  ModelCheckpointOptions often;
  often.save_freq = 1;
  saved.trainer().Fit(
      saved.data,
      TrainJob::Quiet(
          {.epochs = 2, .callbacks = {ModelCheckpoint(dir / "all", often)}}));
  EXPECT_EQ(saved.trainer().Values(), plain.trainer().Values());
}

TEST(ResumeTest, ACheckpointThatNoTrainerHasSavedHasTheValues) {
  const TempDir dir;
  TrainJob job(PlaneBatches(kExamples, 8));
  {
    CheckpointManager manager(job.trainer().coordinator(), dir / "ckpt");
    // Of the variables, and not by the trainer.
    manager.Save();
  }
  TrainJob second(PlaneBatches(kExamples, 8));
  second.trainer();
  // It has the record of its trainer, which had not begun.
  EXPECT_THAT(
      second.trainer().Fit(second.data, Saving(dir / "ckpt", 0)).epochs(),
      SizeIs(kEpochs));
}

TEST(ResumeTest, ADamagedCheckpointIsPassedOver) {
  const TempDir dir;
  {
    TrainJob first(PlaneBatches(kExamples, 8));
    FitOptions options = Saving(dir / "ckpt", 0);
    options.callbacks = {CutOff(70)};
    ErrorOf([&] { first.trainer().Fit(first.data, options); });
  }
  // ckpt-1 is the beginning; the last is of the second epoch.
  std::filesystem::resize_file((dir / "ckpt") + "/ckpt-3/manifest.json", 100);
  TrainJob second(PlaneBatches(kExamples, 8));
  std::ostringstream said;
  FitOptions options = Saving(dir / "ckpt", 0);
  options.verbose = Verbose::kLinePerEpoch;
  options.terminal.warnings = &said;
  second.trainer().Fit(second.data, options);
  EXPECT_THAT(said.str(), HasSubstr("goes on with epoch 2, batch 1 of 30"));
  EXPECT_EQ(second.trainer().iterations(), kEpochs * kExamples / 8);
}

}  // namespace
}  // namespace capstan

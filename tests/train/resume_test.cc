// A Fit that is cut off, and goes on from its checkpoints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "base/file/posix_file_system.h"
#include "checkpoint/directory.h"
#include "checkpoint/training_place.h"
#include "testing/temp_dir.h"
#include "train/linear_model.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using testing::ContentOf;
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

// As `capstan checkpoint ls` shows it. Steps are numbered anew by each job.
TEST(ResumeTest, CheckpointsSayHowFarTheTrainingIs) {
  const TempDir dir;
  for (const int epochs : {2, kEpochs}) {
    TrainJob job(PlaneBatches(kExamples, 8), JobOptions(false));
    FitOptions options = Saving(dir.path(), 0);
    options.epochs = epochs;
    options.checkpoint.keep.max_to_keep = 0;
    job.trainer().Fit(job.data, options);
  }
  const auto files = ValueOrThrow(PosixFileSystem::Open(dir.path()));
  std::vector<std::uint64_t> iterations;
  std::vector<std::uint64_t> epochs;
  std::vector<std::uint64_t> steps;
  for (const std::string& name : ValueOrThrow(ListCheckpoints(*files, ""))) {
    const Checkpoint checkpoint = ValueOrThrow(OpenCheckpoint(*files, name));
    const TrainingPlace place = FindTraining(checkpoint.manifest);
    iterations.push_back(place.iterations);
    epochs.push_back(place.epochs.value().complete);
    EXPECT_EQ(place.epochs->batches, 0u);
    steps.push_back(checkpoint.manifest.step);
  }
  EXPECT_THAT(iterations, ElementsAre(0, 30, 60, 90, 120));
  EXPECT_THAT(epochs, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_FALSE(std::is_sorted(steps.begin(), steps.end()));
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

TEST(ResumeTest, LogsHaveEachEpochOnce) {
  for (const bool append : {false, true}) {
    SCOPED_TRACE(append);
    const TempDir dir;
    const auto fit = [&](const std::vector<CallbackHandle>& more) {
      TrainJob job(PlaneBatches(kExamples, 8));
      FitOptions options = Saving(dir / "ckpt", 0);
      options.checkpoint.every_epochs = 2;
      options.callbacks = {CSVLogger(dir / "log.csv", {.append = append}),
                           JSONLogger(dir / "log.jsonl", append)};
      options.callbacks.insert(options.callbacks.end(), more.begin(),
                               more.end());
      return job.trainer().Fit(job.data, options);
    };
    // In the fourth epoch; the newest checkpoint is of the second.
    ErrorOf([&] { fit({CutOff(100)}); });
    const History history = fit({});
    EXPECT_THAT(history.epochs(), ElementsAre(0, 1, 2, 3));
    EXPECT_EQ(ContentOf(dir / "log.csv"), history.ToCsv());
    std::istringstream lines(ContentOf(dir / "log.jsonl"));
    std::string line;
    int epoch = 0;
    while (std::getline(lines, line)) {
      EXPECT_THAT(line, HasSubstr("{\"epoch\": " + std::to_string(epoch++)));
    }
    EXPECT_EQ(epoch, 4);
  }
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
          {.epochs = 2,
           .callbacks = {ModelCheckpoint(dir / "all", often),
                         ModelCheckpoint(dir / "values/{batch}", often)}}));
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

// What gets worse with every epoch, and who stops at the third of these.
CallbackHandle Worse() {
  return LambdaCallback(
      {.on_epoch_end = [](int epoch, Logs& logs) { logs["x"] = epoch; }});
}
EarlyStoppingOptions PatienceOf(int epochs) {
  EarlyStoppingOptions options;
  options.monitor = "x";
  options.mode = MonitorMode::kMin;
  options.patience = epochs;
  return options;
}

TEST(ResumeTest, OneThatWasStoppedStaysSo) {
  const TempDir dir;
  FitOptions options = Saving(dir / "ckpt", 0);
  options.epochs = 10;
  TrainJob first(PlaneBatches(kExamples, 8));
  options.callbacks = {Worse(), EarlyStopping(PatienceOf(2))};
  EXPECT_THAT(first.trainer().Fit(first.data, options).epochs(),
              ElementsAre(0, 1, 2));
  TrainJob second(PlaneBatches(kExamples, 8));
  std::ostringstream said;
  options.verbose = Verbose::kLinePerEpoch;
  options.terminal.warnings = &said;
  options.callbacks = {Worse(), EarlyStopping(PatienceOf(2))};
  EXPECT_THAT(second.trainer().Fit(second.data, options).epochs(),
              ElementsAre(0, 1, 2));
  EXPECT_EQ(second.trainer().Values(), first.trainer().Values());
  EXPECT_THAT(said.str(), HasSubstr("was stopped after epoch 3 of 10"));
  // Unless it is asked for more.
  TrainJob third(PlaneBatches(kExamples, 8));
  options.epochs = 11;
  options.callbacks = {Worse()};
  EXPECT_THAT(third.trainer().Fit(third.data, options).epochs(), SizeIs(11));
}

TEST(ResumeTest, CallbacksAreFoundThoughOthersAreGone) {
  const TempDir dir;
  FitOptions options = Saving(dir / "ckpt", 0);
  options.epochs = 10;
  {
    TrainJob first(PlaneBatches(kExamples, 8));
    options.callbacks = {
        Worse(), LearningRateScheduler([](int, double rate) { return rate; }),
        EarlyStopping(PatienceOf(3)), CutOff(70)};
    ErrorOf([&] { first.trainer().Fit(first.data, options); });
  }
  TrainJob second(PlaneBatches(kExamples, 8));
  options.callbacks = {Worse(), EarlyStopping(PatienceOf(3))};
  EXPECT_THAT(second.trainer().Fit(second.data, options).epochs(),
              ElementsAre(0, 1, 2, 3));
}

// What callbacks set in the end is in the last checkpoint.
TEST(ResumeTest, TheLastCheckpointHasTheBestWeights) {
  const TempDir dir;
  FitOptions options = Saving(dir / "ckpt", 0);
  TrainJob first(PlaneBatches(kExamples, 8));
  EarlyStoppingOptions best = PatienceOf(2);
  best.restore_best_weights = true;
  options.callbacks = {Worse(), EarlyStopping(best)};
  first.trainer().Fit(first.data, options);
  TrainJob second(PlaneBatches(kExamples, 8));
  second.trainer().Fit(second.data, options);
  EXPECT_EQ(second.trainer().Values(), first.trainer().Values());
}

TEST(ResumeTest, ThatTheBestWeightsAreGoneIsSaid) {
  const TempDir dir;
  FitOptions options = Saving(dir / "ckpt", 0);
  EarlyStoppingOptions best = PatienceOf(3);
  best.restore_best_weights = true;
  {
    TrainJob first(PlaneBatches(kExamples, 8));
    options.callbacks = {Worse(), EarlyStopping(best), CutOff(70)};
    ErrorOf([&] { first.trainer().Fit(first.data, options); });
  }
  TrainJob second(PlaneBatches(kExamples, 8));
  options.callbacks = {Worse(), EarlyStopping(best)};
  ::testing::internal::CaptureStderr();
  second.trainer().Fit(second.data, options);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("warning: EarlyStopping: the weights of epoch 1, the "
                        "best, were lost"));
}

// A checkpoint that is saved by a callback at the end of an epoch is of before
// that end, for all callbacks.
TEST(ResumeTest, AnEpochThatEndsAgainCountsOnce) {
  const TempDir dir;
  {
    TrainJob first(PlaneBatches(kExamples, 8));
    FitOptions options = TrainJob::Quiet({.epochs = 10});
    options.callbacks = {Worse(), EarlyStopping(PatienceOf(3)),
                         ModelCheckpoint(dir / "ckpt"), CutOff(70)};
    ErrorOf([&] { first.trainer().Fit(first.data, options); });
  }
  TrainJob second(PlaneBatches(kExamples, 8));
  FitOptions options = Saving(dir / "ckpt", 0);
  options.epochs = 10;
  options.callbacks = {Worse(), EarlyStopping(PatienceOf(3))};
  EXPECT_THAT(second.trainer().Fit(second.data, options).epochs(),
              ElementsAre(0, 1, 2, 3));
}

TEST(ResumeTest, TheRateOfAnEpochThatWasCutOffIsThatOfTheEpoch) {
  const auto fit = [](TrainJob& job, FitOptions options) {
    options.callbacks.emplace_back(
        LearningRateScheduler([](int, double rate) { return rate * 0.7; }));
    return job.trainer().Fit(job.data, options);
  };
  TrainJob whole(PlaneBatches(kExamples, 8), JobOptions(true));
  fit(whole, TrainJob::Quiet({.epochs = kEpochs}));
  const TempDir dir;
  for (const int cut : {38, 9, 2}) {
    TrainJob job(PlaneBatches(kExamples, 8), JobOptions(true));
    FitOptions options = Saving(dir / "ckpt", 4);
    options.callbacks = {CutOff(cut)};
    ErrorOf([&] { fit(job, options); });
  }
  TrainJob last(PlaneBatches(kExamples, 8), JobOptions(true));
  fit(last, Saving(dir / "ckpt", 4));
  EXPECT_EQ(last.trainer().Values(), whole.trainer().Values());
  EXPECT_EQ(last.trainer().learning_rate(), whole.trainer().learning_rate());
}

TEST(ResumeTest, EarlierFitsHaveTheirHistory) {
  const TempDir dir;
  const auto run = [&](TrainJob& job) {
    FitOptions options = Saving(dir / "ckpt", 0);
    options.epochs = 2;
    std::vector<std::map<std::string, std::vector<double>>> histories;
    histories.push_back(job.trainer().Fit(job.data, options).series());
    options.epochs = 3;
    histories.push_back(job.trainer().Fit(job.data, options).series());
    return histories;
  };
  TrainJob first(PlaneBatches(kExamples, 8));
  const auto histories = run(first);
  EXPECT_EQ(first.trainer().iterations(), 5 * kExamples / 8);
  TrainJob second(PlaneBatches(kExamples, 8));
  EXPECT_EQ(run(second), histories);
  EXPECT_EQ(second.trainer().Values(), first.trainer().Values());
}

TEST(ResumeTest, WhatIsSetBetweenTwoFitsStays) {
  const TempDir dir;
  TrainJob job(PlaneBatches(kExamples, 8));
  FitOptions options = Saving(dir / "ckpt", 0);
  job.trainer().Fit(job.data, options);
  std::map<std::string, Tensor> values = job.trainer().Values();
  values.at("linear/b") = Tensor::FromValues({1}, {123.0f});
  job.trainer().SetValues(values);
  std::map<std::string, Tensor> begun;
  options.callbacks = {LambdaCallback(
      {.on_train_begin = [&](Logs&) { begun = job.trainer().Values(); }})};
  job.trainer().Fit(job.data, options);
  EXPECT_EQ(begun, values);
}

TEST(ResumeTest, ACheckpointByHandIsOfTheSamePlace) {
  const TempDir dir;
  TrainJob first(PlaneBatches(kExamples, 8));
  const History all = first.trainer().Fit(first.data, Saving(dir / "ckpt", 0));
  {
    CheckpointManager manager(first.trainer().coordinator(), dir / "ckpt");
    first.trainer().SaveCheckpoint(manager);
  }
  TrainJob second(PlaneBatches(kExamples, 8));
  EXPECT_EQ(second.trainer().Fit(second.data, Saving(dir / "ckpt", 0)).series(),
            all.series());
  EXPECT_EQ(second.trainer().Values(), first.trainer().Values());
}

// Leaves a checkpoint of the middle of the second epoch.
void SaveInTheMiddle(TrainJob& job, const std::string& directory) {
  int batches = 0;
  FitOptions options = TrainJob::Quiet({.epochs = kEpochs});
  options.callbacks = {
      LambdaCallback({.on_train_batch_end = [&](std::int64_t, Logs&) {
        if (++batches < 32) return;
        CheckpointManager manager(job.trainer().coordinator(), directory);
        job.trainer().SaveCheckpoint(manager);
        manager.Wait();
        throw std::runtime_error("cut off");
      }})};
  ErrorOf([&] { job.trainer().Fit(job.data, options); });
}

// In the middle of an epoch, the numbers of batches must mean what they did.
TEST(ResumeTest, OtherDataIsRefusedInTheMiddleOfAnEpoch) {
  const TempDir dir;
  const auto shuffled = [](std::int64_t examples, std::int64_t batch,
                           std::uint64_t seed) {
    return Dataset::FromTensors(testing::Plane(examples))
        .Shuffle(examples, {.seed = seed})
        .Batch(batch);
  };
  {
    TrainJob first(shuffled(kExamples, 8, 1));
    SaveInTheMiddle(first, dir / "ckpt");
  }
  const auto resume = [&](const Dataset& data, FitOptions options) {
    TrainJob job(data);
    // So that all find the same checkpoint.
    options.checkpoint.every_epochs = 0;
    options.checkpoint.every_steps = 0;
    return ErrorOf([&] { job.trainer().Fit(job.data, options); });
  };
  const FitOptions same = Saving(dir / "ckpt", 0);
  EXPECT_THAT(
      resume(shuffled(kExamples, 20, 1), same),
      IsError(ErrorCode::kFailedPrecondition,
              AllOf(HasSubstr("Fit of 'linear' was interrupted in epoch 2"),
                    HasSubstr("with 30 batches per epoch of "
                              "Rows(240).Shuffle(seed 1).Batch(8)"),
                    HasSubstr("with 12 batches per epoch of "
                              "Rows(240).Shuffle(seed 1).Batch(20)"),
                    HasSubstr("another checkpoint directory"))));
  // As many batches, but other examples in them.
  for (const Dataset& data :
       {shuffled(2 * kExamples, 16, 1), shuffled(kExamples - 1, 8, 1),
        shuffled(kExamples, 8, 2)}) {
    EXPECT_THAT(resume(data, same), IsError(ErrorCode::kFailedPrecondition,
                                            HasSubstr("cannot resume there")));
  }
  FitOptions by_iterator = same;
  by_iterator.steps_per_epoch = 30;
  EXPECT_THAT(resume(shuffled(kExamples, 8, 1), by_iterator),
              IsError(ErrorCode::kFailedPrecondition,
                      HasSubstr("with steps_per_epoch = 30")));
  TrainJob last(shuffled(kExamples, 8, 1));
  EXPECT_THAT(last.trainer().Fit(last.data, same).epochs(), SizeIs(kEpochs));
  EXPECT_EQ(last.trainer().iterations(), kEpochs * kExamples / 8);
}

// A training that goes on has the order that was drawn for it.
TEST(ResumeTest, WithoutASeedTheOrderIsThatOfBefore) {
  const TempDir dir;
  std::mutex mutex;
  std::vector<std::int64_t> ids;
  const Dataset data = Dataset::FromTensors(testing::Plane(kExamples))
                           .Shuffle(kExamples)
                           .Batch(8)
                           .Map([&](const Example& batch) {
                             const Tensor read = batch["id"];
                             const std::lock_guard lock(mutex);
                             for (const auto id : read.Values<std::int64_t>()) {
                               ids.push_back(id);
                             }
                             return batch;
                           });
  TrainJob::Options one_worker;
  one_worker.workers = 1;
  {
    TrainJob first(data, one_worker);
    SaveInTheMiddle(first, dir / "ckpt");
  }
  TrainJob second(data, one_worker);
  const std::size_t before = ids.size();
  FitOptions options = Saving(dir / "ckpt", 0);
  options.epochs = 2;
  std::int64_t resumed_at = 0;
  options.callbacks = {LambdaCallback({.on_train_begin = [&](Logs&) {
    resumed_at = second.trainer().iterations();
  }})};
  second.trainer().Fit(second.data, options);
  // In the second epoch, and not at its beginning.
  ASSERT_GT(resumed_at, kExamples / 8);
  const auto begun = static_cast<std::size_t>(8 * resumed_at);
  ASSERT_GE(before, begun);
  ASSERT_EQ(ids.size() - before, 2 * kExamples - begun);
  std::set<std::int64_t> epoch(ids.begin() + kExamples,
                               ids.begin() + 8 * resumed_at);
  epoch.insert(ids.begin() + static_cast<std::int64_t>(before), ids.end());
  EXPECT_THAT(epoch, SizeIs(kExamples));
}

TEST(ResumeTest, OtherDataIsTakenBetweenTwoEpochs) {
  const TempDir dir;
  {
    TrainJob first(PlaneBatches(kExamples, 8));
    FitOptions options = Saving(dir / "ckpt", 0);
    options.callbacks = {CutOff(38)};
    ErrorOf([&] { first.trainer().Fit(first.data, options); });
  }
  TrainJob second(PlaneBatches(kExamples, 20));
  second.trainer().Fit(second.data, Saving(dir / "ckpt", 0));
  EXPECT_EQ(second.trainer().iterations(),
            kExamples / 8 + (kEpochs - 1) * kExamples / 20);
}

// Two models that are trained one after the other, with one directory.
struct TwoModels {
  TwoModels() : job(definitions, 2, 2) {}
  std::map<std::string, Tensor> Run(const std::string& directory,
                                    const std::vector<CallbackHandle>& cuts) {
    const TrainerOptions options = {.optimizer = Adam{.learning_rate = 0.05},
                                    .update = Sync{.replicas = 2}};
    FitOptions fit = Saving(directory, 7);
    Trainer first(job.local.cluster(), a, options);
    fit.epochs = 2;
    fit.callbacks = {cuts[0]};
    first.Fit(data, fit);
    // One that is not there when the other begins.
    Trainer second(job.local.cluster(), b, options);
    fit.callbacks = {cuts[1]};
    second.Fit(data, fit);
    fit.callbacks = {cuts[2]};
    first.Fit(data, fit);
    std::map<std::string, Tensor> values = first.Values();
    values.merge(second.Values());
    return values;
  }

  Definitions definitions;
  const Model a = testing::AddLinearModel(definitions, "a");
  const Model b = testing::AddLinearModel(definitions, "b");
  const DatasetHandle data =
      testing::AddData(definitions, "data", PlaneBatches(kExamples, 8));
  testing::Job job;
};

TEST(ResumeTest, ModelsThatShareADirectory) {
  const TempDir dir;
  constexpr int kNever = 1'000'000;
  const auto cuts = [](int a, int b, int c) {
    return std::vector<CallbackHandle>{CutOff(a), CutOff(b), CutOff(c)};
  };
  TwoModels whole;
  const auto expected = whole.Run(dir / "whole", cuts(kNever, kNever, kNever));
  // Each is cut off in another Fit, and again in the same.
  for (const auto& [a, b, c] :
       {std::tuple(40, kNever, kNever), std::tuple(kNever, 10, kNever),
        std::tuple(kNever, 31, kNever), std::tuple(kNever, kNever, 20)}) {
    TwoModels one;
    const std::vector<CallbackHandle> cut = cuts(a, b, c);
    EXPECT_THAT(ErrorOf([&] { one.Run(dir / "cut", cut); }),
                IsError(ErrorCode::kUnknown, HasSubstr("cut off")));
  }
  TwoModels last;
  EXPECT_EQ(last.Run(dir / "cut", cuts(kNever, kNever, kNever)), expected);
  TwoModels again;
  EXPECT_EQ(again.Run(dir / "cut", cuts(1, 1, 1)), expected)
      << "nothing is left to do";
}

// What the servers keep of a job is bounded, but not the number of its models.
TEST(ResumeTest, ManyModelsMayHaveLongHistories) {
  constexpr int kModels = 20;
  constexpr int kMany = 5;
  Definitions definitions;
  std::vector<Model> models;
  for (int i = 0; i < kModels; ++i) {
    models.push_back(
        testing::AddLinearModel(definitions, "model" + std::to_string(i)));
  }
  const DatasetHandle data =
      testing::AddData(definitions, "data", PlaneBatches(8, 8));
  testing::Job job(definitions, 1, 1);
  FitOptions options = TrainJob::Quiet({.epochs = kMany});
  // As long as the history of 700 epochs with 4 metrics.
  options.callbacks = {LambdaCallback({.on_epoch_end = [](int, Logs& logs) {
    for (int i = 0; i < 200; ++i) {
      logs["a metric with a long name " + std::to_string(i)] = 1.0 / 3;
    }
  }})};
  for (const Model& model : models) {
    Trainer trainer(job.local.cluster(), model,
                    {.optimizer = Sgd{.learning_rate = 0.01}});
    EXPECT_THAT(trainer.Fit(data, options).epochs(), SizeIs(kMany));
    EXPECT_EQ(trainer.iterations(), kMany);
  }
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
  EXPECT_THAT(said.str(), HasSubstr("resuming at epoch 2, batch 1 of 30"));
  EXPECT_EQ(second.trainer().iterations(), kEpochs * kExamples / 8);
}

}  // namespace
}  // namespace capstan

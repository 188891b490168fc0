// Callbacks that write files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>

#include "testing/temp_dir.h"
#include "train/linear_model.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using testing::ContentOf;
using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::IsError;
using ::testing::Not;
using testing::PlaneBatches;
using testing::Series;
using ::testing::SizeIs;
using testing::TempDir;
using testing::TrainJob;

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    names.push_back(std::filesystem::relative(entry.path(), folder).string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(ModelCheckpointTest, SavesAfterEachEpoch) {
  const TempDir dir;
  TrainJob job(PlaneBatches(24, 8));
  job.trainer().Fit(
      job.data,
      TrainJob::Quiet(
          {.epochs = 3,
           .callbacks = {ModelCheckpoint(dir / "ckpt/{epoch:02d}")}}));
  EXPECT_THAT(NamesIn(dir.path()),
              ElementsAre("ckpt/01.safetensors", "ckpt/02.safetensors",
                          "ckpt/03.safetensors"));
  const std::map<std::string, Tensor> trained = job.trainer().Values();
  job.trainer().Load(dir / "ckpt/01.safetensors");
  EXPECT_EQ(job.trainer().iterations(), 3);
  job.trainer().Load(dir / "ckpt/03.safetensors");
  EXPECT_EQ(job.trainer().Values(), trained);
}

TEST(ModelCheckpointTest, SavesTheBestOnly) {
  const TempDir dir;
  TrainJob job(PlaneBatches(24, 8));
  job.trainer().Fit(
      job.data,
      TrainJob::Quiet(
          {.epochs = 5,
           .callbacks = {
               Series("made", {3, 4, 2, 2.5, 1}),
               ModelCheckpoint(dir / "{epoch}-{made:.1f}",
                               {.monitor = "made", .save_best_only = true})}}));
  EXPECT_THAT(NamesIn(dir.path()),
              ElementsAre("1-3.0.safetensors", "3-2.0.safetensors",
                          "5-1.0.safetensors"));
}

TEST(ModelCheckpointTest, SavesEverySoManyBatches) {
  const TempDir dir;
  TrainJob job(PlaneBatches(80, 8));
  job.trainer().Fit(
      job.data,
      TrainJob::Quiet({.epochs = 2,
                       .callbacks = {ModelCheckpoint(dir / "{epoch}-{batch}",
                                                     {.save_freq = 6})}}));
  EXPECT_THAT(
      NamesIn(dir.path()),
      ElementsAre("1-6.safetensors", "2-2.safetensors", "2-8.safetensors"));
}

TEST(ModelCheckpointTest, APatternThatIsWrongIsNamed) {
  const TempDir dir;
  TrainJob job(PlaneBatches(24, 8));
  EXPECT_THAT(ErrorOf([&] {
                job.trainer().Fit(
                    job.data,
                    TrainJob::Quiet(
                        {.callbacks = {ModelCheckpoint(dir / "{nothing}")}}));
              }),
              IsError(ErrorCode::kInvalidArgument,
                      AllOf(HasSubstr("ModelCheckpoint"),
                            HasSubstr("epoch, batch, loss"))));
}

// Among the lines that others may write there.
int WarningsIn(const std::string& text,
               const std::string& callback = "ModelCheckpoint") {
  int count = 0;
  const std::string warning = "warning: " + callback + ": ";
  for (std::size_t at = text.find(warning); at != std::string::npos;
       at = text.find(warning, at + 1)) {
    ++count;
  }
  return count;
}

// `path` in the test's folder: whole checkpoints, or files.
class FullDiskTest : public ::testing::TestWithParam<const char*> {};

TEST_P(FullDiskTest, TheTrainingGoesOnAndTheNextSaveTriesAgain) {
  const TempDir dir;
  TrainJob job(PlaneBatches(24, 8));
  // Nothing can be made in a file.
  std::ofstream(dir / "ckpt") << "full";
  const auto room = LambdaCallback({.on_epoch_begin = [&](int epoch, Logs&) {
    if (epoch == 2) std::filesystem::remove(dir / "ckpt");
  }});
  const auto checkpoint = std::make_shared<ModelCheckpoint>(
      dir / GetParam(),
      ModelCheckpointOptions{.monitor = "made", .save_best_only = true});
  ::testing::internal::CaptureStderr();
  const History history = job.trainer().Fit(
      job.data,
      TrainJob::Quiet(
          {.epochs = 4,
           .callbacks = {room, Series("made", {1, 2, 3, 4}), checkpoint}}));
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(history.epochs(), SizeIs(4));
  // Though it is worse than what could not be saved; and then no more.
  EXPECT_THAT(NamesIn(dir / "ckpt"), Not(SizeIs(0)));
  EXPECT_THAT(
      checkpoint->last_path(),
      AnyOf((dir / "ckpt") + "/ckpt-1", (dir / "ckpt") + "/3.safetensors"));
  EXPECT_EQ(WarningsIn(said), 2) << said;
  EXPECT_THAT(said, AllOf(HasSubstr("warning: ModelCheckpoint: "),
                          HasSubstr(dir / "ckpt"),
                          HasSubstr("the training goes on\n")));
}

TEST_P(FullDiskTest, AFolderThatIsGoneIsMadeAgain) {
  const TempDir dir;
  TrainJob job(PlaneBatches(24, 8));
  const auto gone = LambdaCallback({.on_epoch_begin = [&](int epoch, Logs&) {
    if (epoch != 1) return;
    // Else it is written while it is being removed.
    while (!std::filesystem::exists(dir / "ckpt/ckpt-1") &&
           !std::filesystem::exists(dir / "ckpt/1.safetensors")) {
      std::this_thread::yield();
    }
    std::filesystem::remove_all(dir / "ckpt");
  }});
  ::testing::internal::CaptureStderr();
  const History history = job.trainer().Fit(
      job.data, TrainJob::Quiet(
                    {.epochs = 4,
                     .callbacks = {gone, ModelCheckpoint(dir / GetParam())}}));
  ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(history.epochs(), SizeIs(4));
  EXPECT_THAT(NamesIn(dir / "ckpt"), Not(SizeIs(0)));
}

INSTANTIATE_TEST_SUITE_P(All, FullDiskTest,
                         ::testing::Values("ckpt", "ckpt/{epoch}"));

TEST(ModelCheckpointTest, WaitsForWhatIsNotYetMeasured) {
  const TempDir dir;
  TrainJob job(PlaneBatches(24, 8));
  const DatasetHandle other = job.AddData("other", PlaneBatches(8, 4));
  ::testing::internal::CaptureStderr();
  job.trainer().Fit(
      job.data,
      TrainJob::Quiet({.epochs = 3,
                       .validation_data = other,
                       .validation_freq = 2,
                       .callbacks = {ModelCheckpoint(
                           dir / "{epoch}", {.save_best_only = true})}}));
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(NamesIn(dir.path()), ElementsAre("2.safetensors"));
  EXPECT_EQ(WarningsIn(said), 1) << said;
  EXPECT_THAT(said, HasSubstr("'val_loss', which is not measured"));
}

TEST(ModelCheckpointTest, WhatIsNeverMeasuredIsSaidOnce) {
  const TempDir dir;
  TrainJob job(PlaneBatches(24, 8));
  ::testing::internal::CaptureStderr();
  job.trainer().Fit(
      job.data,
      TrainJob::Quiet(
          {.epochs = 2,
           .callbacks = {ModelCheckpoint(
               dir / "{epoch}", {.save_best_only = true, .save_freq = 1})}}));
  EXPECT_EQ(WarningsIn(::testing::internal::GetCapturedStderr()), 1);
  EXPECT_THAT(NamesIn(dir.path()), SizeIs(0));
}

TEST(ModelCheckpointTest, WhatIsNoNumberIsNeverTheBest) {
  const TempDir dir;
  TrainJob job(PlaneBatches(24, 8));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  job.trainer().Fit(
      job.data,
      TrainJob::Quiet(
          {.epochs = 5,
           .callbacks = {
               Series("made", {nan, 3, nan, 4, 2}),
               ModelCheckpoint(dir / "{epoch}",
                               {.monitor = "made", .save_best_only = true})}}));
  EXPECT_THAT(NamesIn(dir.path()),
              ElementsAre("2.safetensors", "5.safetensors"));
}

// Throws in an epoch, as a job that is ended would.
LambdaCallback EndIn(int epoch) {
  return LambdaCallback({.on_epoch_begin = [epoch](int at, Logs&) {
    if (at == epoch) throw std::runtime_error("the end");
  }});
}

TEST(BackupAndRestoreTest, GoesOnWhereItWas) {
  const TempDir dir;
  // Without faults. One worker, so that the order of steps is known.
  const TrainJob::Options options = {.workers = 1, .servers = 1};
  TrainJob whole(PlaneBatches(24, 8), options);
  whole.trainer().Fit(whole.data, TrainJob::Quiet({.epochs = 5}));

  TrainJob first(PlaneBatches(24, 8), options);
  EXPECT_THAT(
      ErrorOf([&] {
        first.trainer().Fit(
            first.data,
            TrainJob::Quiet(
                {.epochs = 5,
                 .callbacks = {BackupAndRestore(dir / "backup"), EndIn(3)}}));
      }),
      IsError(ErrorCode::kUnknown, HasSubstr("the end")));
  EXPECT_THAT(NamesIn(dir.path()),
              ElementsAre("backup/ckpt-4/manifest.json",
                          "backup/ckpt-4/server-0.safetensors"));

  TrainJob second(PlaneBatches(24, 8), options);
  const History history = second.trainer().Fit(
      second.data,
      TrainJob::Quiet(
          {.epochs = 5, .callbacks = {BackupAndRestore(dir / "backup")}}));
  // With those of before.
  EXPECT_THAT(history.epochs(), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(second.trainer().iterations(), 15);
  EXPECT_EQ(second.trainer().Values(), whole.trainer().Values());
  // It has come to its end.
  EXPECT_THAT(NamesIn(dir.path()), SizeIs(0));
}

TEST(BackupAndRestoreTest, KeepsTheLearningRate) {
  const TempDir dir;
  TrainJob first(PlaneBatches(24, 8));
  const BackupAndRestore backup(dir.path(), {.delete_checkpoint = false});
  first.trainer().Fit(
      first.data,
      TrainJob::Quiet({.epochs = 2,
                       .callbacks = {LearningRateScheduler(
                                         [](int, double) { return 0.0125; }),
                                     backup}}));
  TrainJob second(PlaneBatches(24, 8));
  const History history = second.trainer().Fit(
      second.data, TrainJob::Quiet({.epochs = 2, .callbacks = {backup}}));
  EXPECT_THAT(history.epochs(), ElementsAre(0, 1));
  EXPECT_EQ(second.trainer().iterations(), 6);
  EXPECT_EQ(second.trainer().learning_rate(), 0.0125);
}

TEST(TensorBoardTest, WritesWhatWasMeasured) {
  const TempDir dir;
  TrainJob job(PlaneBatches(24, 8));
  const DatasetHandle other = job.AddData("other", PlaneBatches(8, 4));
  job.trainer().Fit(
      job.data,
      TrainJob::Quiet(
          {.epochs = 2,
           .validation_data = other,
           .callbacks = {TensorBoard(
               dir.path(),
               {.update_freq = 2,
                .histogram_freq = 1,
                .hparams = {{"rate", 0.05}, {"rule", std::string("sgd")}}})}}));
  const std::vector<std::string> names = NamesIn(dir.path());
  ASSERT_THAT(names, SizeIs(3));
  EXPECT_THAT(names[0], HasSubstr("events.out.tfevents."));
  EXPECT_THAT(names[1], HasSubstr("train/events.out.tfevents."));
  EXPECT_THAT(names[2], HasSubstr("validation/events.out.tfevents."));
  EXPECT_THAT(ContentOf(dir / names[0]),
              AllOf(HasSubstr("hparams"), HasSubstr("sgd")));
  EXPECT_THAT(ContentOf(dir / names[1]),
              AllOf(HasSubstr("epoch_loss"), HasSubstr("batch_loss"),
                    HasSubstr("linear/w"), Not(HasSubstr("val_"))));
  EXPECT_THAT(ContentOf(dir / names[2]),
              AllOf(HasSubstr("epoch_loss"), Not(HasSubstr("linear/w"))));
}

size_t CountIn(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != text.npos;
       at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

// A coordinator that is killed loses none that is in the file.
TEST(TensorBoardTest, PointsAreInTheFileWhileTheEpochRuns) {
  const TempDir dir;
  TrainJob job(PlaneBatches(24, 8));
  size_t batches = 0;
  const auto look =
      LambdaCallback({.on_train_batch_end = [&](std::int64_t, Logs&) {
        const std::string run = dir / "train";
        const std::string file = run + "/" + NamesIn(run).front();
        EXPECT_EQ(CountIn(ContentOf(file), "batch_loss"), ++batches);
      }});
  job.trainer().Fit(
      job.data,
      TrainJob::Quiet(
          {.epochs = 2,
           .callbacks = {TensorBoard(dir.path(), {.update_freq = 1}), look}}));
  EXPECT_EQ(batches, 6u);
}

TEST(TensorBoardTest, WhatCannotBeWrittenDoesNotEndTheTraining) {
  const TempDir dir;
  TrainJob job(PlaneBatches(24, 8));
  // Nothing can be made in a file.
  std::filesystem::create_directory(dir / "logs");
  std::ofstream(dir / "logs/train") << "full";
  const auto room = LambdaCallback({.on_epoch_begin = [&](int epoch, Logs&) {
    if (epoch == 2) std::filesystem::remove(dir / "logs/train");
  }});
  ::testing::internal::CaptureStderr();
  const History history = job.trainer().Fit(
      job.data,
      TrainJob::Quiet({.epochs = 4,
                       .callbacks = {room, TensorBoard(dir / "logs",
                                                       {.update_freq = 1})}}));
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(history.epochs(), SizeIs(4));
  EXPECT_THAT(NamesIn(dir / "logs"), SizeIs(1));
  // At the beginning, and in each of the first two epochs.
  EXPECT_EQ(WarningsIn(said, "TensorBoard"), 3) << said;
}

TEST(TensorBoardTest, SaysWhereItGoesOn) {
  const TempDir dir;
  const BackupAndRestore backup(dir / "backup");
  const auto fit = [&](const std::vector<CallbackHandle>& callbacks) {
    TrainJob job(PlaneBatches(24, 8));
    job.trainer().Fit(job.data,
                      TrainJob::Quiet({.epochs = 4, .callbacks = callbacks}));
  };
  EXPECT_THAT(ErrorOf([&] {
                fit({backup, TensorBoard(dir / "first"), EndIn(2)});
              }),
              IsError(ErrorCode::kUnknown, HasSubstr("the end")));
  fit({backup, TensorBoard(dir / "second")});
  // Event.step = 2, Event.session_log = {status = START}.
  const std::string start("\x10\x02\x3a\x02\x08\x01");
  const auto content = [&](const std::string& run) {
    return ContentOf((dir / run) + "/" + NamesIn(dir / run).front());
  };
  EXPECT_THAT(content("first"), Not(HasSubstr("\x3a\x02\x08\x01")));
  EXPECT_THAT(content("second"), HasSubstr(start));
}

TEST(CsvLoggerTest, IsTheHistory) {
  const TempDir dir;
  TrainJob job(PlaneBatches(24, 8));
  const DatasetHandle other = job.AddData("other", PlaneBatches(8, 4));
  const History history = job.trainer().Fit(
      job.data, TrainJob::Quiet({.epochs = 3,
                                 .validation_data = other,
                                 .validation_freq = 2,
                                 .callbacks = {CSVLogger(dir / "log.csv")}}));
  EXPECT_EQ(ContentOf(dir / "log.csv"), history.ToCsv());
}

}  // namespace
}  // namespace capstan

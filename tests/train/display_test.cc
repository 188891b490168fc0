// What Fit, Evaluate and Predict show.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "testing/temp_dir.h"
#include "train/linear_model.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using testing::PlaneBatches;
using ::testing::SizeIs;
using ::testing::StartsWith;
using testing::TempDir;
using testing::TrainJob;

std::vector<std::string> LinesOf(const std::ostringstream& text) {
  std::vector<std::string> lines;
  std::istringstream all(text.str());
  for (std::string line; std::getline(all, line);) lines.push_back(line);
  return lines;
}

// A clock that goes on by `step` each time that it is looked at.
TerminalOptions Into(std::ostringstream& out, std::int64_t step) {
  TerminalOptions terminal;
  terminal.stream = &out;
  terminal.now = [time = std::int64_t{0}, step]() mutable {
    return time += step;
  };
  return terminal;
}

TEST(DisplayTest, ALinePerEpochWhereThereIsNoTerminal) {
  TrainJob job(PlaneBatches(80, 8));
  std::ostringstream out;
  job.trainer().Fit(job.data, {.epochs = 2,
                               .run_directory = "runs/7",
                               .terminal = Into(out, 1'000'000)});
  const std::vector<std::string> lines = LinesOf(out);
  ASSERT_THAT(lines, SizeIs(5));
  // The first epoch may end before both workers have made their resources.
  EXPECT_THAT(lines[0], MatchesRegex("Epoch 1/2: 10 steps in .* ms \\(.*/step, "
                                     ".* examples/s\\) - loss: .* - [12]/2 "
                                     "workers - staleness p99 .*"));
  // The data is in memory, and the model says 1 ms for each computation.
  EXPECT_THAT(lines[1], MatchesRegex("  step 1\\.. ms = data .* \\+ pull .* "
                                     "\\+ compute 1\\.0 \\+ push .*"));
  EXPECT_THAT(lines[2], HasSubstr("Epoch 2/2: 10 steps"));
  EXPECT_THAT(lines[4],
              MatchesRegex("trained 2 epochs, 20 steps in .*; the run is in "
                           "runs/7"));
  EXPECT_THAT(out.str(), Not(HasSubstr("\x1b")));
}

TEST(DisplayTest, ABarOnATerminal) {
  TrainJob job(PlaneBatches(80, 8));
  std::ostringstream out;
  TerminalOptions terminal = Into(out, 60'000'000);
  terminal.is_terminal = true;
  terminal.color = false;
  terminal.width = 120;
  job.trainer().Fit(job.data, {.epochs = 1, .terminal = terminal});
  const std::vector<std::string> lines = LinesOf(out);
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_EQ(lines[0], "Epoch 1/1");
  EXPECT_THAT(lines[1], HasSubstr("\r10/10 [=========="));
  EXPECT_THAT(lines[1], HasSubstr(" - loss: "));
  EXPECT_THAT(lines[1], HasSubstr(">"));
  EXPECT_THAT(lines[3], HasSubstr("trained 1 epoch, 10 steps"));
}

TEST(DisplayTest, NotMoreThanTenTimesPerSecond) {
  TrainJob job(PlaneBatches(8'000, 8));
  std::ostringstream out;
  // The time does not go on: one line at the beginning, one at the end.
  TerminalOptions terminal;
  terminal.stream = &out;
  terminal.is_terminal = true;
  terminal.now = [] { return std::int64_t{1'000'000'000'000}; };
  job.trainer().Fit(job.data, {.epochs = 1, .terminal = terminal});
  const std::string text = out.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\r'), 2);
}

TEST(DisplayTest, SilenceIsSilent) {
  TrainJob job(PlaneBatches(80, 8));
  std::ostringstream out;
  FitOptions options = {.verbose = Verbose::kSilent,
                        .terminal = Into(out, 1'000'000)};
  job.trainer().Fit(job.data, options);
  EXPECT_EQ(out.str(), "");
}

TEST(DisplayTest, AnotherProgressBarIsNotAdded) {
  TrainJob job(PlaneBatches(80, 8));
  std::ostringstream own;
  std::ostringstream added;
  job.trainer().Fit(
      job.data,
      {.callbacks = {ProgressBar(Verbose::kLinePerEpoch, Into(own, 1'000'000))},
       .terminal = Into(added, 1'000'000)});
  EXPECT_THAT(own.str(), HasSubstr("Epoch 1/1"));
  EXPECT_EQ(added.str(), "");
}

TEST(DisplayTest, OfEvaluateAndPredict) {
  TrainJob job(PlaneBatches(80, 8));
  std::ostringstream out;
  job.trainer().Evaluate(job.data, {.terminal = Into(out, 1'000'000)});
  job.trainer().Predict(
      job.data, {.verbose = Verbose::kAuto, .terminal = Into(out, 1'000'000)});
  const std::vector<std::string> lines = LinesOf(out);
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_THAT(lines[0], MatchesRegex("evaluated in .* ms - loss: .*"));
  EXPECT_THAT(lines[1], MatchesRegex("predicted in .* ms"));
}

TEST(DisplayTest, ValidationShowsInTheLineOfTheEpoch) {
  TrainJob job(PlaneBatches(80, 8));
  std::ostringstream out;
  job.trainer().Fit(
      job.data, {.validation_split = 0.25, .terminal = Into(out, 1'000'000)});
  EXPECT_THAT(out.str(),
              AllOf(HasSubstr(" - val_loss: "), Not(HasSubstr("evaluated"))));
}

// A clock that the test moves.
struct Clock {
  TerminalOptions Into(std::ostringstream& out) {
    TerminalOptions terminal;
    terminal.stream = &out;
    terminal.now = [this] { return now; };
    return terminal;
  }
  // 10 ms for each batch.
  LambdaCallback Batches() {
    return LambdaCallback({.on_train_batch_begin = [this](std::int64_t, Logs&) {
      now += 10'000'000;
    }});
  }

  std::int64_t now = 0;
};

TEST(DisplayTest, ValidationIsNoTrainingTime) {
  struct Slow : Callback {
    explicit Slow(Clock& of) : clock(of) {}
    void OnTestBegin(Logs&) override { clock.now += 100'000'000'000; }
    Clock& clock;
  };
  TrainJob job(PlaneBatches(80, 8));
  const DatasetHandle other = job.AddData("other", PlaneBatches(8, 4));
  Clock clock;
  std::ostringstream out;
  job.trainer().Fit(job.data, {.validation_data = other,
                               .callbacks = {clock.Batches(), Slow(clock)},
                               .terminal = clock.Into(out)});
  EXPECT_THAT(
      out.str(),
      StartsWith("Epoch 1/1: 10 steps in 100 ms (10 ms/step, 800 examples/s)"));
}

// Of the batches that were trained before, only how many they are is shown.
TEST(DisplayTest, AnEpochThatGoesOnShowsItsOwnSpeed) {
  constexpr std::int64_t kBatches = 40;
  const TempDir dir;
  {
    TrainJob job(PlaneBatches(8 * kBatches, 8));
    CheckpointManager manager(job.trainer().coordinator(), dir.path());
    const auto cut =
        LambdaCallback({.on_train_batch_begin = [&](std::int64_t batch, Logs&) {
          if (batch < 6) return;
          job.trainer().SaveCheckpoint(manager);
          throw std::runtime_error("cut off");
        }});
    EXPECT_THROW(
        job.trainer().Fit(job.data, TrainJob::Quiet({.callbacks = {cut}})),
        Error);
  }
  TrainJob job(PlaneBatches(8 * kBatches, 8));
  Clock clock;
  std::ostringstream out;
  std::int64_t left = 0;
  const auto count = LambdaCallback(
      {.on_train_batch_begin = [&](std::int64_t, Logs&) { ++left; }});
  job.trainer().Fit(job.data, {.callbacks = {clock.Batches(), count},
                               .checkpoint = {.directory = dir.path()},
                               .terminal = clock.Into(out)});
  ASSERT_GT(left, 0);
  ASSERT_LE(left, kBatches - 6);
  const std::vector<std::string> lines = LinesOf(out);
  EXPECT_THAT(lines.front(),
              StartsWith(fmt::format("Epoch 1/1: {} of {} steps in {} ms (10 "
                                     "ms/step, 800 examples/s)",
                                     left, kBatches, 10 * left)));
  EXPECT_THAT(lines.back(),
              StartsWith(fmt::format("trained 1 epoch, {} steps", left)));
}

}  // namespace
}  // namespace capstan

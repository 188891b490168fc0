// CSVLogger and JSONLogger.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <sstream>
#include <tuple>
#include <utility>

#include "capstan/callback.h"
#include "testing/temp_dir.h"

namespace capstan {
namespace {

using testing::TempDir;

std::string ContentOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

template <typename Logger>
void LogEpochs(Logger logger, int first, const std::vector<Logs>& epochs) {
  Logs none;
  logger.OnTrainBegin(none);
  for (Logs logs : epochs) logger.OnEpochEnd(first++, logs);
}

TEST(CsvLoggerTest, HasALineForEachEpoch) {
  const TempDir dir;
  const std::string path = dir / "new/log.csv";
  LogEpochs(CSVLogger(path), 0,
            {{{"loss", 0.5}}, {{"loss", 0.25}, {"auc", 1}}});
  EXPECT_EQ(ContentOf(path), "epoch,auc,loss\n0,,0.5\n1,1,0.25\n");
  LogEpochs(CSVLogger(path), 0, {{{"loss", 7}}});
  EXPECT_EQ(ContentOf(path), "epoch,loss\n0,7\n");
}

TEST(CsvLoggerTest, AddsToWhatIsThere) {
  const TempDir dir;
  const std::string path = dir / "log.csv";
  const CsvLoggerOptions options = {.separator = ';', .append = true};
  LogEpochs(CSVLogger(path, options), 0, {{{"loss", 0.5}}});
  LogEpochs(CSVLogger(path, options), 1, {{{"loss", 0.25}, {"val_loss", 3}}});
  EXPECT_EQ(ContentOf(path), "epoch;loss;val_loss\n0;0.5;\n1;0.25;3\n");
}

TEST(JsonLoggerTest, HasALineForEachEpoch) {
  const TempDir dir;
  const std::string path = dir / "log.jsonl";
  LogEpochs(JSONLogger(path), 0,
            {{{"loss", 0.5}},
             {{"loss", std::numeric_limits<double>::quiet_NaN()}, {"auc", 1}}});
  const std::string two =
      "{\"epoch\": 0, \"loss\": 0.5}\n"
      "{\"epoch\": 1, \"auc\": 1, \"loss\": null}\n";
  EXPECT_EQ(ContentOf(path), two);
  LogEpochs(JSONLogger(path, true), 2, {{{"loss", 0.1}}});
  EXPECT_EQ(ContentOf(path), two + "{\"epoch\": 2, \"loss\": 0.1}\n");
  LogEpochs(JSONLogger(path), 0, {{{"loss", 7}}});
  EXPECT_EQ(ContentOf(path), "{\"epoch\": 0, \"loss\": 7}\n");
}

// Both loggers, with one column, with or without earlier content.
class ResumedLoggerTest
    : public ::testing::TestWithParam<std::tuple<bool, bool>> {
 protected:
  std::shared_ptr<Callback> NewLogger() const {
    if (json()) return std::make_shared<JSONLogger>(path_, append());
    return std::make_shared<CSVLogger>(path_,
                                       CsvLoggerOptions{.append = append()});
  }
  bool json() const { return std::get<0>(GetParam()); }
  bool append() const { return std::get<1>(GetParam()); }

  static void Begin(Callback& logger) {
    Logs none;
    logger.OnTrainBegin(none);
  }
  // A logger as set up by a Fit that resumes in another process.
  std::shared_ptr<Callback> Resume(const std::string& state) const {
    const std::shared_ptr<Callback> logger = NewLogger();
    logger->SetState(state);
    Begin(*logger);
    logger->SetState(state);
    return logger;
  }
  static void Log(Callback& logger, int epoch, double loss) {
    Logs logs = {{"loss", loss}};
    logger.OnEpochEnd(epoch, logs);
  }
  // The text of a file with these rows.
  std::string Text(const std::vector<std::pair<int, int>>& rows) const {
    std::string text = json() ? "" : "epoch,loss\n";
    for (const auto& [epoch, loss] : rows) {
      const std::string e = std::to_string(epoch);
      const std::string l = std::to_string(loss);
      text += json() ? "{\"epoch\": " + e + ", \"loss\": " + l + "}\n"
                     : e + "," + l + "\n";
    }
    return text;
  }
  // Writes the content from before the test's Fit; returns what of it is kept.
  std::vector<std::pair<int, int>> LogOther() const {
    const std::shared_ptr<Callback> other = NewLogger();
    Begin(*other);
    for (int epoch = 0; epoch < 5; ++epoch) Log(*other, epoch, 70 + epoch);
    if (!append()) return {};
    return {{0, 70}, {1, 71}, {2, 72}, {3, 73}, {4, 74}};
  }
  void ExpectAfter(std::vector<std::pair<int, int>> rows,
                   const std::vector<std::pair<int, int>>& more) const {
    rows.insert(rows.end(), more.begin(), more.end());
    EXPECT_EQ(ContentOf(path_), Text(rows));
  }

  const TempDir dir_;
  const std::string path_ = dir_ / "log";
};

TEST_P(ResumedLoggerTest, GoesOnInAnotherProcess) {
  const auto others = LogOther();
  std::string state;
  {
    const std::shared_ptr<Callback> logger = NewLogger();
    Begin(*logger);
    Log(*logger, 0, 1);
    state = logger->State();
    // The saved state does not know these epochs.
    Log(*logger, 1, 2);
    Log(*logger, 2, 3);
  }
  const std::shared_ptr<Callback> logger = Resume(state);
  ExpectAfter(others, {{0, 1}, {1, 2}, {2, 3}});
  Log(*logger, 1, 4);
  ExpectAfter(others, {{0, 1}, {1, 4}});
  // Resume once more.
  const std::shared_ptr<Callback> third = Resume(logger->State());
  Log(*third, 2, 5);
  Log(*third, 3, 6);
  ExpectAfter(others, {{0, 1}, {1, 4}, {2, 5}, {3, 6}});
}

TEST_P(ResumedLoggerTest, GoesBack) {
  const auto others = LogOther();
  const std::shared_ptr<Callback> logger = NewLogger();
  Begin(*logger);
  const std::string at_first = logger->State();
  Log(*logger, 0, 1);
  Log(*logger, 1, 2);
  const std::string state = logger->State();
  Log(*logger, 2, 3);
  logger->SetState(state);
  Log(*logger, 2, 4);
  Log(*logger, 3, 5);
  ExpectAfter(others, {{0, 1}, {1, 2}, {2, 4}, {3, 5}});
  logger->SetState(at_first);
  Log(*logger, 0, 6);
  ExpectAfter(others, {{0, 6}});
}

TEST_P(ResumedLoggerTest, WhatIsOfOthersIsNotTakenForItsOwn) {
  const auto others = LogOther();
  std::string state;
  {
    const std::shared_ptr<Callback> logger = NewLogger();
    Begin(*logger);
    // Interrupted in its first epoch, which is not epoch 0.
    state = logger->State();
  }
  Log(*Resume(state), 3, 1);
  ExpectAfter(others, {{3, 1}});
}

TEST_P(ResumedLoggerTest, DoesWithoutTheFile) {
  const std::shared_ptr<Callback> logger = NewLogger();
  Begin(*logger);
  Log(*logger, 0, 1);
  std::filesystem::remove(path_);
  Log(*Resume(logger->State()), 1, 2);
  ExpectAfter({}, {{1, 2}});
}

TEST_P(ResumedLoggerTest, WhatCannotBeWrittenIsSaidAndWrittenLater) {
  const std::shared_ptr<Callback> logger = NewLogger();
  Begin(*logger);
  Log(*logger, 0, 1);
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  ::testing::internal::CaptureStderr();
  Log(*logger, 1, 2);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::AllOf(
                  ::testing::StartsWith("warning: " + logger->Name() + ": "),
                  ::testing::EndsWith("; the training goes on\n")));
  const std::string state = logger->State();
  Log(*logger, 2, 3);
  std::filesystem::remove(path_);
  logger->SetState(state);
  Log(*logger, 2, 4);
  ExpectAfter({}, {{0, 1}, {1, 2}, {2, 4}});
}

INSTANTIATE_TEST_SUITE_P(All, ResumedLoggerTest,
                         ::testing::Combine(::testing::Bool(),
                                            ::testing::Bool()));

TEST(JsonLoggerTest, ALineThatWasCutOffIsDroppedWhenItGoesOn) {
  const TempDir dir;
  const std::string path = dir / "log.jsonl";
  Logs logs = {{"loss", 1}};
  JSONLogger first(path);
  first.OnTrainBegin(logs);
  first.OnEpochEnd(0, logs);
  std::ofstream(path, std::ios::app) << "{\"epoch\": 1, \"lo";
  JSONLogger second(path);
  second.OnTrainBegin(logs);
  second.SetState(first.State());
  second.OnEpochEnd(2, logs);
  EXPECT_EQ(ContentOf(path),
            "{\"epoch\": 0, \"loss\": 1}\n{\"epoch\": 2, \"loss\": 1}\n");
}

}  // namespace
}  // namespace capstan

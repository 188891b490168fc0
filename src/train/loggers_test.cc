// CSVLogger and JSONLogger.
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <sstream>

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
  LogEpochs(JSONLogger(path), 0, {});
  EXPECT_EQ(ContentOf(path), "");
}

}  // namespace
}  // namespace capstan

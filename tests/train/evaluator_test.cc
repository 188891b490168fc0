// The evaluator, on checkpoints of a training that has ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "testing/temp_dir.h"
#include "train/linear_model.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsError;
using ::testing::Not;
using testing::PlaneBatches;
using ::testing::SizeIs;
using testing::TempDir;
using testing::TrainJob;

constexpr int kPlaneExamples = 64;

std::vector<nlohmann::json> LinesOf(const std::string& path) {
  std::vector<nlohmann::json> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    lines.push_back(nlohmann::json::parse(line));
  }
  return lines;
}

// Trains, and returns what was measured on the same data after each epoch.
std::vector<double> Train(const std::string& directory, int epochs) {
  TrainJob job(PlaneBatches(kPlaneExamples, 8));
  std::vector<double> losses;
  FitOptions options;
  options.epochs = epochs;
  options.verbose = Verbose::kSilent;
  options.validation_data = job.data;
  options.checkpoint.directory = directory;
  options.checkpoint.keep.max_to_keep = 0;
  return job.trainer().Fit(job.data, options)["val_loss"];
}

// A task whose job is over, unless a test says otherwise.
class EvaluatorTest : public ::testing::Test {
 protected:
  EvaluatorTest() { options.evaluate.verbose = Verbose::kSilent; }

  void Run() {
    Definitions definitions;
    const Model model = testing::AddLinearModel(definitions);
    const DatasetHandle data = testing::AddData(definitions, "data", batches);
    LocalCluster local(definitions, 2, 1);
    ClusterCoordinator coordinator(local.cluster());
    EvaluatorTask task{.coordinator = coordinator};
    task.over = over;
    task.checkpoint_directory = dir / "ckpt";
    options.evaluate.terminal.warnings = &said;
    RunEvaluator(task, model, data, options);
  }

  std::string Log() const { return (dir / "ckpt") + "/evaluations.jsonl"; }

  // By their names, in the order of the log.
  std::vector<std::string> Evaluated() const {
    std::vector<std::string> names;
    for (const nlohmann::json& line : LinesOf(Log())) {
      names.push_back(line["checkpoint"]);
    }
    return names;
  }

  // All but the log.
  void RemoveCheckpoints() const {
    for (int i = 1; i < 10; ++i) {
      std::filesystem::remove_all((dir / "ckpt") + "/ckpt-" +
                                  std::to_string(i));
    }
  }

  void ExpectBestIs(const std::string& name) const {
    TrainJob job(PlaneBatches(kPlaneExamples, 8));
    const CheckpointManager manager(job.trainer().coordinator(), dir / "ckpt",
                                    {.read_only = true});
    manager.Export(dir / "expected.safetensors", name);
    const auto read = [](const std::string& path) {
      std::ostringstream text;
      text << std::ifstream(path, std::ios::binary).rdbuf();
      return text.str();
    };
    EXPECT_EQ(read(options.export_best), read(dir / "expected.safetensors"));
  }

  const TempDir dir;
  Dataset batches = PlaneBatches(kPlaneExamples, 8);
  EvaluatorOptions options;
  std::function<bool()> over = [] { return true; };
  std::ostringstream said;
};

TEST_F(EvaluatorTest, EvaluatesEachOnceWithItsStep) {
  const std::vector<double> losses = Train(dir / "ckpt", 3);
  options.export_best = dir / "best.safetensors";
  options.tensorboard = dir / "board";
  Run();
  const auto lines = LinesOf((dir / "ckpt") + "/evaluations.jsonl");
  ASSERT_THAT(lines, SizeIs(4));  // one is of the beginning
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i]["checkpoint"], "ckpt-" + std::to_string(i + 1));
    EXPECT_EQ(lines[i]["iterations"], i * kPlaneExamples / 8);
    if (i > 0) {
      EXPECT_EQ(lines[i]["loss"].get<double>(), losses[i - 1]);
    }
  }
  EXPECT_TRUE(std::filesystem::exists(dir / "best.safetensors"));
  EXPECT_FALSE(std::filesystem::is_empty((dir / "board") + "/evaluation"));
  // Another evaluator has nothing to do.
  Run();
  EXPECT_THAT(LinesOf((dir / "ckpt") + "/evaluations.jsonl"), SizeIs(4));
}

TEST_F(EvaluatorTest, ExportsTheBestOnly) {
  const std::vector<double> losses = Train(dir / "ckpt", 2);
  ASSERT_LT(losses[1], losses[0]);
  // The worst one first, by the opposite measure: only it is exported.
  options.mode = MonitorMode::kMax;
  options.export_best = dir / "best.safetensors";
  Run();
  ExpectBestIs("ckpt-1");
}

TEST_F(EvaluatorTest, ExportsTheBestAlthoughItEndedBeforeThat) {
  Train(dir / "ckpt", 2);
  options.mode = MonitorMode::kMax;
  options.export_best = dir / "best.safetensors";
  // The first is the best, and cannot take the place of this.
  std::filesystem::create_directories((dir / "best.safetensors") + "/full");
  ErrorOf([&] { Run(); });
  std::filesystem::remove_all(dir / "best.safetensors");
  Run();
  ExpectBestIs("ckpt-1");
  EXPECT_THAT(Evaluated(), ElementsAre("ckpt-1", "ckpt-2", "ckpt-3"));
}

TEST_F(EvaluatorTest, WhatIsNoNumberIsNotTheBest) {
  Train(dir / "ckpt", 1);
  options.export_best = dir / "best.safetensors";
  const Example plane = testing::Plane(kPlaneExamples);
  const std::vector<float> unknown(kPlaneExamples, std::nanf(""));
  batches = Dataset::FromTensors(
                Example({{"x", plane["x"]},
                         {"y", Tensor::FromValues({kPlaneExamples}, unknown)}}))
                .Batch(8);
  Run();
  ASSERT_THAT(Evaluated(), ElementsAre("ckpt-1", "ckpt-2"));
  EXPECT_TRUE(LinesOf(Log())[0]["loss"].is_null());
  EXPECT_FALSE(std::filesystem::exists(options.export_best));
  batches = PlaneBatches(kPlaneExamples, 8);
  Train(dir / "ckpt", 2);
  Run();
  ExpectBestIs("ckpt-3");
}

TEST_F(EvaluatorTest, NamesThatBeginAnewAreOfOthers) {
  Train(dir / "ckpt", 2);
  Run();
  RemoveCheckpoints();
  Train(dir / "ckpt", 1);
  Run();
  EXPECT_THAT(Evaluated(),
              ElementsAre("ckpt-1", "ckpt-2", "ckpt-3", "ckpt-1", "ckpt-2"));
  // And each of these once.
  Run();
  EXPECT_THAT(Evaluated(), SizeIs(5));
}

TEST_F(EvaluatorTest, NamesMayBeginAnewWhileItLooks) {
  Train(dir / "ckpt", 2);
  int looks = 0;
  over = [&] {
    if (++looks == 2) {
      RemoveCheckpoints();
      Train(dir / "ckpt", 2);
    }
    return looks > 1;
  };
  Run();
  EXPECT_THAT(Evaluated(), ElementsAre("ckpt-1", "ckpt-2", "ckpt-3", "ckpt-1",
                                       "ckpt-2", "ckpt-3"));
}

TEST_F(EvaluatorTest, GoesOnAfterALineThatWasCutOff) {
  Train(dir / "ckpt", 2);
  const std::string log = (dir / "ckpt") + "/evaluations.jsonl";
  // And what is none of ours.
  std::ofstream(log) << "{\"checkpoint\": 7}\n[1]\n"
                     << "{\"checkpoint\": \"ckpt-1\"}\n{\"checkpoint\": \"ck";
  Run();
  std::ifstream file(log);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  ASSERT_THAT(lines, SizeIs(6));
  EXPECT_THAT(lines[4], HasSubstr("{\"checkpoint\": \"ckpt-2\""));
  EXPECT_THAT(lines[5], HasSubstr("{\"checkpoint\": \"ckpt-3\""));
}

TEST_F(EvaluatorTest, NewestOnly) {
  Train(dir / "ckpt", 3);
  options.newest_only = true;
  Run();
  EXPECT_THAT(Evaluated(), ElementsAre("ckpt-4"));
  // Those that are older are not for later.
  Run();
  EXPECT_THAT(Evaluated(), ElementsAre("ckpt-4"));
}

TEST_F(EvaluatorTest, PassesOverWhatIsDamaged) {
  Train(dir / "ckpt", 2);
  std::filesystem::resize_file((dir / "ckpt") + "/ckpt-2/server-0.safetensors",
                               10);
  Run();
  EXPECT_THAT(LinesOf((dir / "ckpt") + "/evaluations.jsonl"), SizeIs(2));
  EXPECT_THAT(said.str(), HasSubstr("warning: ckpt-2 is not evaluated"));
}

TEST_F(EvaluatorTest, SaysWhenThereIsNothing) {
  options.poll = std::chrono::milliseconds(1);
  options.hint_after = std::chrono::milliseconds(1);
  over = [this] { return said.str().size() > 0; };
  Run();
  EXPECT_THAT(said.str(), HasSubstr("no new checkpoint in '" + (dir / "ckpt")));
  EXPECT_FALSE(std::filesystem::exists(dir / "ckpt"));
}

TEST_F(EvaluatorTest, FollowsWhileTheJobRuns) {
  std::atomic<bool> ended = false;
  over = [&] { return ended.load(); };
  options.poll = std::chrono::milliseconds(1);
  std::thread job([&] {
    Train(dir / "ckpt", 3);
    ended = true;
  });
  Run();
  job.join();
  EXPECT_THAT(LinesOf((dir / "ckpt") + "/evaluations.jsonl"), SizeIs(4));
}

TEST_F(EvaluatorTest, WithoutADirectoryItSaysWhatToDo) {
  Definitions definitions;
  const Model model = testing::AddLinearModel(definitions);
  const DatasetHandle data =
      testing::AddData(definitions, "data", PlaneBatches(8, 8));
  LocalCluster local(definitions, 1, 1);
  ClusterCoordinator coordinator(local.cluster());
  const EvaluatorTask task{.coordinator = coordinator};
  EXPECT_THAT(ErrorOf([&] { RunEvaluator(task, model, data, {}); }),
              IsError(ErrorCode::kInvalidArgument,
                      HasSubstr("capstan run --checkpoint-dir")));
}

}  // namespace
}  // namespace capstan

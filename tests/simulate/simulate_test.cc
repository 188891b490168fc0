// The short form of `make simulate`: no violations in a few seeds of every
// scenario, every planted bug found, the same trace for the same seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "simulate/run_scenario.h"
#include "simulate/run_seed.h"
#include "simulate/scenario.h"
#include "simulate/workload.h"
#include "testing/source_path.h"

namespace capstan::simulate {
namespace {

// Fewer where code is slow: without optimization, and under sanitizers.
#if !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__) || \
    defined(__SANITIZE_THREAD__)
constexpr uint64_t kSeeds = 8;
#else
constexpr uint64_t kSeeds = 50;
#endif

// A planted bug must be found within this many seeds; most are within ten.
constexpr uint64_t kSeedsForPlants = 1000;

std::string Directory() { return testing::SourcePath("tests/scenarios"); }

Scenario Load(const std::string& name) {
  absl::StatusOr<Scenario> scenario =
      LoadScenario(Directory() + "/" + name + ".yaml");
  EXPECT_TRUE(scenario.ok()) << scenario.status();
  return scenario.ok() ? *std::move(scenario) : Scenario();
}

class ScenarioRunTest : public ::testing::TestWithParam<std::string> {};

TEST_P(ScenarioRunTest, HasNoViolations) {
  const absl::StatusOr<Scenario> scenario = LoadScenario(GetParam());
  ASSERT_TRUE(scenario.ok()) << scenario.status();
  if (scenario->most_seeds > 0) GTEST_SKIP() << "a test of its own";
  RunOptions options;
  // A scenario with costly seeds asks for few, and gets fewer here.
  options.seeds = std::clamp<uint64_t>(
      static_cast<uint64_t>(scenario->seeds) / 4, 1, kSeeds);
  options.repeat_every = 10;
  const absl::StatusOr<ScenarioSummary> summary =
      RunScenario(*scenario, options);
  ASSERT_TRUE(summary.ok()) << summary.status();
  for (const SeedResult& failure : summary->failures) {
    ADD_FAILURE() << "seed " << failure.seed << ": "
                  << failure.violations.at(0);
  }
  for (const std::string& complaint : summary->complaints) {
    ADD_FAILURE() << complaint;
  }
  EXPECT_EQ(summary->seeds, options.seeds);
  EXPECT_GT(summary->tally.replies, summary->seeds * 20);
}

std::string NameOfScenario(const ::testing::TestParamInfo<std::string>& info) {
  return std::filesystem::path(info.param).stem().string();
}

INSTANTIATE_TEST_SUITE_P(All, ScenarioRunTest,
                         ::testing::ValuesIn(ListScenarios(Directory())),
                         NameOfScenario);

// The scenarios in which the bug must be found.
std::vector<std::string> ScenariosFor(Plant plant) {
  if (PlantConcerns(plant, "durable_log")) return {"durable_log"};
  if (PlantConcerns(plant, "request_reply")) return {"request_reply"};
  switch (plant) {
    case Plant::kStalePull:
      return {"digits_sync", "digits_bounded"};
    case Plant::kPartialCommit:
      return {"digits_sync", "digits_mixed", "closures_sync"};
    case Plant::kNoDedup:
    case Plant::kDedupByWorker:
    case Plant::kEarlyWatermark:
      return {"digits_async", "digits_sync",    "digits_bounded",
              "digits_mixed", "closures_async", "closures_bounded"};
    case Plant::kRetryNewStep:
      return {"closures_async", "closures_bounded"};
    case Plant::kLostClosure:
    case Plant::kResultSwap:
      return {"closures_async", "closures_sync", "closures_bounded"};
    case Plant::kStaleSession:
      return {"closures_async", "closures_sync"};
    case Plant::kLateBlock:
    case Plant::kNewNumbers:
      return {"closures_restart_async", "closures_restart_sync",
              "closures_restart_one", "closures_keys"};
    case Plant::kFarRecord:
    case Plant::kLostRecord:
      return {"closures_restart_async", "closures_restart_sync",
              "closures_restart_one"};
    case Plant::kUnsettled:
      return {"closures_restart_sync"};
    default:
      return {"digits_async", "digits_sync", "digits_bounded", "digits_mixed"};
  }
}

class PlantRunTest : public ::testing::TestWithParam<Plant> {};

TEST_P(PlantRunTest, IsFound) {
  for (const std::string& name : ScenariosFor(GetParam())) {
    const Scenario scenario = Load(name);
    RunOptions options;
    options.seeds = kSeedsForPlants;
    options.plant = GetParam();
    options.max_failures = 1;
    const absl::StatusOr<ScenarioSummary> summary =
        RunScenario(scenario, options);
    ASSERT_TRUE(summary.ok()) << summary.status();
    ASSERT_EQ(summary->failures.size(), 1u) << name;
    std::cout << name << ": found with seed " << summary->failures[0].seed
              << ": " << summary->failures[0].violations.at(0) << "\n";
  }
}

std::string NameOfPlant(const ::testing::TestParamInfo<Plant>& info) {
  return std::string(PlantName(info.param));
}

INSTANTIATE_TEST_SUITE_P(All, PlantRunTest, ::testing::ValuesIn(AllPlants()),
                         NameOfPlant);

TEST(SimulateTest, WritingTheTraceDoesNotChangeIt) {
  const Scenario scenario = Load("request_reply");
  std::ostringstream first_text, again_text;
  const auto first = RunSeed(scenario, 3, Plant::kNone, &first_text);
  const auto again = RunSeed(scenario, 3, Plant::kNone, &again_text);
  const auto silent = RunSeed(scenario, 3, Plant::kNone, nullptr);
  const auto other = RunSeed(scenario, 4, Plant::kNone, nullptr);
  ASSERT_TRUE(first.ok() && again.ok() && silent.ok() && other.ok());
  EXPECT_EQ(first_text.str(), again_text.str());
  EXPECT_EQ(first->digest, again->digest);
  EXPECT_EQ(first->digest, silent->digest);
  EXPECT_NE(first->digest, other->digest);
}

TEST(SimulateTest, ThreadsDoNotChangeTheTraces) {
  const Scenario scenario = Load("durable_log");
  RunOptions options;
  options.seeds = kSeeds;
  const auto alone = RunScenario(scenario, options);
  options.jobs = 3;
  const auto together = RunScenario(scenario, options);
  ASSERT_TRUE(alone.ok() && together.ok());
  EXPECT_EQ(alone->digest, together->digest);
  EXPECT_EQ(alone->tally.requests, together->tally.requests);
}

// The hash of one run, which must be the same in every build, with every
// compiler and on every machine. It changes whenever the protocol, the
// simulator or the scenario does; then check that
//
//   build/release/bin/simulate --scenario tests/scenarios/request_reply.yaml
//       --seed 42
//
// and the debug build print the same number, and update it here.
TEST(SimulateTest, TraceIsTheSameInEveryBuild) {
  const Scenario scenario = Load("request_reply");
  const auto result = RunSeed(scenario, 42, Plant::kNone, nullptr);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->digest, 0xb491115b6f954e56u) << std::hex << result->digest;
}

// The same for tests/scenarios/digits_sync.yaml.
TEST(SimulateTest, TraceOfTrainingIsTheSameInEveryBuild) {
  const Scenario scenario = Load("digits_sync");
  const auto result = RunSeed(scenario, 42, Plant::kNone, nullptr);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->digest, 0x284f13c0d9dc708au) << std::hex << result->digest;
}

// For closures, whose traces still change too often for a fixed number.
TEST(SimulateTest, TraceOfClosuresIsTheSameForTheSameSeed) {
  for (const char* name : {"closures_sync", "closures_restart_sync"}) {
    const Scenario scenario = Load(name);
    const auto result = RunSeed(scenario, 42, Plant::kNone, nullptr);
    const auto again = RunSeed(scenario, 42, Plant::kNone, nullptr);
    const auto other = RunSeed(scenario, 43, Plant::kNone, nullptr);
    ASSERT_TRUE(result.ok() && again.ok() && other.ok());
    EXPECT_EQ(result->digest, again->digest);
    EXPECT_NE(result->digest, other->digest);
  }
}

// Seeds that once failed: a record published before a newer one followed
// (variables.h, Tell), and a round committed before all its places were taken
// (round_book.h).
TEST(SimulateTest, RestartsThatWentWrongGoRight) {
  const std::vector<std::pair<std::string, uint64_t>> seeds = {
      {"closures_restart_one", 145},
      {"closures_restart_sync", 9},
      {"closures_restart_sync", 22}};
  for (const auto& [name, seed] : seeds) {
    const auto result = RunSeed(Load(name), seed, Plant::kNone, nullptr);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(result->violations.empty()) << result->violations.at(0);
  }
}

}  // namespace
}  // namespace capstan::simulate

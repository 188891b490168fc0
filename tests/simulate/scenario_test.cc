#include "simulate/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "simulate/workload.h"

namespace capstan::simulate {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr char kGood[] = R"(
description: as it should be
workload: request_reply
parameters: {servers: 3}
duration: 7s
recovery: 1500ms
seeds: 12
network: {max_latency: 900us, trickle_chance: 0.5}
faults:
  - kind: one_way_partition
    every: 2s
    lasts: 300ms
    nodes: [server, client0]
  - {kind: delay, up_to: 5ms, nodes: client}
)";

std::string ErrorOf(const std::string& text) {
  const absl::StatusOr<Scenario> scenario = ParseScenario(text, "a/b.yaml");
  if (!scenario.ok()) return std::string(scenario.status().message());
  const auto workload = NewWorkload(*scenario, 1, Plant::kNone);
  return std::string(workload.status().message());
}

TEST(ScenarioTest, ReadsEveryKey) {
  const absl::StatusOr<Scenario> scenario = ParseScenario(kGood, "a/b.yaml");
  ASSERT_TRUE(scenario.ok()) << scenario.status();
  EXPECT_EQ(scenario->name, "b");
  EXPECT_EQ(scenario->workload, "request_reply");
  EXPECT_EQ(scenario->duration, seconds(7));
  EXPECT_EQ(scenario->recovery, milliseconds(1500));
  EXPECT_EQ(scenario->seeds, 12);
  EXPECT_EQ(scenario->network.max_latency, microseconds(900));
  EXPECT_EQ(scenario->network.trickle_chance, 0.5);
  ASSERT_EQ(scenario->faults.size(), 2u);
  EXPECT_EQ(scenario->faults[0].kind, FaultKind::kOneWayPartition);
  EXPECT_EQ(scenario->faults[0].every, seconds(2));
  EXPECT_EQ(scenario->faults[0].lasts, milliseconds(300));
  EXPECT_THAT(scenario->faults[0].nodes,
              ::testing::ElementsAre("server", "client0"));
  EXPECT_EQ(scenario->faults[1].up_to, milliseconds(5));
  EXPECT_THAT(scenario->faults[1].nodes, ::testing::ElementsAre("client"));
  EXPECT_EQ(ErrorOf(kGood), "");
}

TEST(ScenarioTest, UnknownKeysAreNamedWithTheirFile) {
  EXPECT_THAT(ErrorOf("workload: request_reply\nfautls: []"),
              HasSubstr("a/b.yaml: unknown key \"fautls\""));
  EXPECT_THAT(
      ErrorOf("workload: request_reply\nfaults: [{kind: hang, lsats: 1s}]"),
      HasSubstr("a/b.yaml: faults[0]: unknown key \"lsats\""));
  EXPECT_THAT(ErrorOf("workload: request_reply\nnetwork: {latency: 1s}"),
              HasSubstr("a/b.yaml: network: unknown key \"latency\""));
  EXPECT_THAT(ErrorOf("workload: request_reply\nparameters: {server: 1}"),
              HasSubstr("a/b.yaml: parameters: unknown key \"server\""));
  EXPECT_THAT(ErrorOf("workload: durable_log\nparameters: {servers: 1}"),
              HasSubstr("a/b.yaml: parameters: unknown key \"servers\""));
}

TEST(ScenarioTest, WrongValuesAreNamed) {
  EXPECT_THAT(ErrorOf("{}"), HasSubstr("workload: is missing"));
  EXPECT_THAT(ErrorOf("workload: tetris"), HasSubstr("\"tetris\""));
  EXPECT_THAT(ErrorOf("workload: request_reply\nfaults: [{kind: flood}]"),
              HasSubstr("faults[0]: kind: there is no fault \"flood\""));
  EXPECT_THAT(ErrorOf("workload: request_reply\nduration: 7"),
              HasSubstr("duration: \"7\" is not a time"));
  EXPECT_THAT(ErrorOf("workload: request_reply\nduration: 7m"),
              HasSubstr("is not a time"));
  EXPECT_THAT(ErrorOf("workload: request_reply\nseeds: many"),
              HasSubstr("seeds: not a whole number"));
  EXPECT_THAT(ErrorOf("workload: request_reply\nseeds: 0"),
              HasSubstr("seeds: 0 is not from 1"));
  EXPECT_THAT(ErrorOf("workload: request_reply\nfaults: 3"),
              HasSubstr("faults: not a list"));
  EXPECT_THAT(ErrorOf("workload: request_reply\nparameters: {large: 1.5}"),
              HasSubstr("large: 1.5 is not from 0 to 1"));
  EXPECT_THAT(ErrorOf("workload: [1"), HasSubstr("a/b.yaml"));
}

TEST(ScenarioTest, EveryFaultHasAName) {
  for (int i = 0; i < kFaultKinds; ++i) {
    const auto kind = static_cast<FaultKind>(i);
    const std::string text = "workload: request_reply\nfaults: [{kind: " +
                             std::string(FaultKindName(kind)) + "}]";
    const absl::StatusOr<Scenario> scenario = ParseScenario(text, "x.yaml");
    ASSERT_TRUE(scenario.ok()) << scenario.status();
    EXPECT_EQ(scenario->faults[0].kind, kind);
  }
}

TEST(PlantTest, NamesAreParsed) {
  for (const Plant plant : AllPlants()) {
    const absl::StatusOr<Plant> parsed = ParsePlant(PlantName(plant));
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(*parsed, plant);
  }
  EXPECT_FALSE(ParsePlant("no_such_bug").ok());
}

}  // namespace
}  // namespace capstan::simulate

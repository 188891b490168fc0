// A scenario: what runs, what goes wrong and for how long. It is a YAML file in
// tests/scenarios; docs/simulation.md lists the keys.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/async/clock.h"
#include "simulate/strict_map.h"
#include "simulation/sim_fabric.h"

namespace capstan::simulate {

enum class FaultKind {
  kDelay,            // packets between two nodes take longer
  kBreak,            // the connections between two nodes are lost
  kPartition,        // nothing passes between two nodes
  kOneWayPartition,  // nothing passes from one node to another
  kHang,             // a process is stopped and resumes later
  kCrash,            // a process is killed and restarted
  kPowerLoss,        // a machine dies and loses what its disk had not synced
  kClock,            // a node's wall clock jumps
  kDiskError,        // an operation on a node's disk fails
};
inline constexpr int kFaultKinds = 9;

// The name used in scenarios: "one_way_partition".
std::string_view FaultKindName(FaultKind kind);

// A recurring fault.
struct FaultSpec {
  FaultKind kind = FaultKind::kDelay;
  // The mean time between two of them.
  Duration every = std::chrono::seconds(5);
  // The longest duration of each.
  Duration lasts = std::chrono::seconds(2);
  // kDelay: the longest delay. kClock: the largest jump.
  Duration up_to = std::chrono::milliseconds(200);
  // The nodes it hits: those whose names begin with one of these; empty: all.
  std::vector<std::string> nodes;
};

struct Scenario {
  std::string name;  // the file's name, without folder and extension
  std::string path;
  std::string workload;
  // The workload's own keys, as written; checked when it is created.
  YAML::Node parameters;
  std::vector<FaultSpec> faults;
  SimNetworkOptions network;
  // How long faults happen, and how long afterwards until everything must work.
  Duration duration = std::chrono::seconds(10);
  Duration recovery = std::chrono::seconds(30);
  int seeds = 1000;
  // For scenarios with costly seeds: the most seeds to run, none of them twice,
  // when all scenarios are run. 0: no limit.
  int most_seeds = 0;
};

// Reads `path`. InvalidArgument, naming the file and the key, for unexpected
// content.
absl::StatusOr<Scenario> LoadScenario(const std::string& path);

// The same from text; `path` is for messages and the name.
absl::StatusOr<Scenario> ParseScenario(const std::string& text,
                                       const std::string& path);

// The .yaml files in `directory`, sorted.
std::vector<std::string> ListScenarios(const std::string& directory);

}  // namespace capstan::simulate

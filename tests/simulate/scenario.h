// A scenario: what runs, what goes wrong and for how long. A YAML file in
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
  kHang,             // a process is stopped and goes on later
  kCrash,            // a process is killed and started again
  kPowerLoss,        // a machine dies, with what its disk had not synced
  kClock,            // a node's wall clock jumps
  kDiskError,        // an operation on a node's disk fails
};
inline constexpr int kFaultKinds = 9;

// As in a scenario: "one_way_partition".
std::string_view FaultKindName(FaultKind kind);

// Something that happens again and again.
struct FaultSpec {
  FaultKind kind = FaultKind::kDelay;
  // The mean time from one to the next.
  Duration every = std::chrono::seconds(5);
  // How long each lasts at most.
  Duration lasts = std::chrono::seconds(2);
  // kDelay: the longest delay. kClock: the farthest jump.
  Duration up_to = std::chrono::milliseconds(200);
  // Whom it hits: nodes whose names begin with one of these; empty: all.
  std::vector<std::string> nodes;
};

struct Scenario {
  std::string name;  // the file's, without folder and extension
  std::string path;
  std::string workload;
  // The workload's own keys, as written; checked when it is created.
  YAML::Node parameters;
  std::vector<FaultSpec> faults;
  SimNetworkOptions network;
  // How long faults happen, and how long after that all must work again.
  Duration duration = std::chrono::seconds(10);
  Duration recovery = std::chrono::seconds(30);
  int seeds = 1000;
  // One seed is costly: when all scenarios are run, not more than these, and
  // none twice. 0: as many as are asked for.
  int most_seeds = 0;
};

// Reads `path`. InvalidArgument naming the file and the key if there is
// anything in it that should not be.
absl::StatusOr<Scenario> LoadScenario(const std::string& path);

// The same from a text; `path` is for messages and the name.
absl::StatusOr<Scenario> ParseScenario(const std::string& text,
                                       const std::string& path);

// The files that end in .yaml in `directory`, sorted.
std::vector<std::string> ListScenarios(const std::string& directory);

}  // namespace capstan::simulate

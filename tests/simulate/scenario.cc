#include "simulate/scenario.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace capstan::simulate {
namespace {

std::optional<FaultKind> FindFaultKind(std::string_view name) {
  for (int i = 0; i < kFaultKinds; ++i) {
    if (FaultKindName(static_cast<FaultKind>(i)) == name) {
      return static_cast<FaultKind>(i);
    }
  }
  return std::nullopt;
}

absl::Status ReadFault(StrictMap& map, FaultSpec& fault) {
  std::string kind;
  map.Read("kind", kind);
  const std::optional<FaultKind> found = FindFaultKind(kind);
  if (!found) {
    map.Fail("kind", absl::StrCat("there is no fault \"", kind, "\""));
  }
  fault.kind = found.value_or(FaultKind::kDelay);
  map.Read("every", fault.every);
  map.Read("lasts", fault.lasts);
  map.Read("up_to", fault.up_to);
  map.Read("nodes", fault.nodes);
  if (fault.every <= Duration::zero()) map.Fail("every", "must be positive");
  return map.Finish();
}

absl::Status ReadNetwork(StrictMap map, SimNetworkOptions& network) {
  map.Read("min_latency", network.min_latency);
  map.Read("max_latency", network.max_latency);
  map.ReadShare("spike_chance", network.spike_chance);
  map.Read("spike", network.spike);
  map.Read("max_retransmit", network.max_retransmit);
  map.Read("min_buffer", network.min_buffer);
  map.Read("max_buffer", network.max_buffer);
  map.ReadShare("trickle_chance", network.trickle_chance);
  if (network.min_buffer == 0) map.Fail("min_buffer", "must be positive");
  return map.Finish();
}

absl::Status ReadScenario(StrictMap map, const YAML::Node& root,
                          Scenario& scenario) {
  std::string description;
  map.Read("description", description);
  map.Read("duration", scenario.duration);
  map.Read("recovery", scenario.recovery);
  map.Read("seeds", scenario.seeds, 1, 100'000'000);
  map.Read("most_seeds", scenario.most_seeds, 0, 100'000'000);
  map.Read("workload", scenario.workload);
  if (scenario.workload.empty()) map.Fail("workload", "is missing");
  map.Map("parameters");
  const YAML::Node parameters = root["parameters"];
  if (parameters.IsDefined()) scenario.parameters = parameters;
  CAPSTAN_RETURN_IF_ERROR(ReadNetwork(map.Map("network"), scenario.network));
  for (StrictMap& entry : map.List("faults")) {
    FaultSpec fault;
    CAPSTAN_RETURN_IF_ERROR(ReadFault(entry, fault));
    scenario.faults.push_back(std::move(fault));
  }
  return map.Finish();
}

}  // namespace

std::string_view FaultKindName(FaultKind kind) {
  switch (kind) {
    case FaultKind::kDelay:
      return "delay";
    case FaultKind::kBreak:
      return "break";
    case FaultKind::kPartition:
      return "partition";
    case FaultKind::kOneWayPartition:
      return "one_way_partition";
    case FaultKind::kHang:
      return "hang";
    case FaultKind::kCrash:
      return "crash";
    case FaultKind::kPowerLoss:
      return "power_loss";
    case FaultKind::kClock:
      return "clock";
    case FaultKind::kDiskError:
      return "disk_error";
  }
  return "unknown";
}

absl::StatusOr<Scenario> ParseScenario(const std::string& text,
                                       const std::string& path) {
  Scenario scenario;
  scenario.path = path;
  scenario.name = std::filesystem::path(path).stem().string();
  YAML::Node root;
  try {
    root = YAML::Load(text);
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", error.what()));
  }
  CAPSTAN_RETURN_IF_ERROR(ReadScenario(StrictMap(root, path), root, scenario));
  return scenario;
}

absl::StatusOr<Scenario> LoadScenario(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) {
    return absl::NotFoundError(absl::StrCat("cannot read ", path));
  }
  return ParseScenario(text.str(), path);
}

std::vector<std::string> ListScenarios(const std::string& directory) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() == ".yaml") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace capstan::simulate

// simulate: runs the scenarios of tests/scenarios with many seeds, in virtual
// time. docs/simulation.md explains the output.
//
//   simulate                                    every scenario, its own seeds
//   simulate --scenario FILE --seeds 100000     one scenario, many seeds
//   simulate --scenario FILE --seed 17 --trace t.txt     one run, traced
//   simulate --plant wrong_reply                must fail
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "simulate/run_scenario.h"
#include "simulate/run_seed.h"
#include "simulate/scenario.h"
#include "simulate/workload.h"

namespace capstan::simulate {
namespace {

struct Flags {
  std::string program;
  std::vector<std::string> scenarios;
  std::optional<uint64_t> seeds;
  uint64_t first_seed = 1;
  std::optional<uint64_t> seed;
  std::string trace;
  std::string plant_name;
  Plant plant = Plant::kNone;
  int jobs = 2;
};

std::string ReplayCommand(const Flags& flags, const Scenario& scenario,
                          uint64_t seed) {
  std::string command = fmt::format("{} --scenario {} --seed {}", flags.program,
                                    scenario.path, seed);
  if (flags.plant != Plant::kNone) {
    command += fmt::format(" --plant {}", flags.plant_name);
  }
  return command + " --trace trace.txt";
}

void PrintViolations(const SeedResult& result) {
  for (const std::string& violation : result.violations) {
    fmt::print("  seed {}: VIOLATION {}\n", result.seed, violation);
  }
  if (result.violation_count > result.violations.size()) {
    fmt::print("  seed {}: and {} more\n", result.seed,
               result.violation_count - result.violations.size());
  }
}

std::string DescribeFaults(const FaultCounts& faults) {
  std::string text;
  uint64_t total = 0;
  for (size_t i = 0; i < faults.size(); ++i) {
    total += faults[i];
    if (faults[i] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ",
                        FaultKindName(static_cast<FaultKind>(i)), faults[i]);
  }
  return total == 0 ? "none" : fmt::format("{} ({})", total, text);
}

void PrintTally(const Tally& tally) {
  fmt::print("  requests    {} ({} again)\n", tally.requests, tally.retries);
  fmt::print("  replies     {}; not answered: {} cancelled, {} late, {} lost\n",
             tally.replies, tally.cancelled, tally.late, tally.lost);
}

void PrintRemark(const std::string& remark) {
  if (!remark.empty()) fmt::print("  remark      {}\n", remark);
}

// One run, with its trace. True if there were no violations.
bool RunOne(const Flags& flags, const Scenario& scenario) {
  std::ofstream trace;
  if (!flags.trace.empty()) {
    trace.open(flags.trace);
    if (!trace) {
      fmt::print(stderr, "simulate: cannot write {}\n", flags.trace);
      return false;
    }
  }
  const absl::StatusOr<SeedResult> result =
      RunSeed(scenario, *flags.seed, flags.plant,
              flags.trace.empty() ? nullptr : &trace);
  if (!result.ok()) {
    fmt::print(stderr, "simulate: {}\n",
               std::string(result.status().message()));
    return false;
  }
  fmt::print("{}, seed {}\n", scenario.name, result->seed);
  PrintTally(result->tally);
  fmt::print("  faults      {}\n", DescribeFaults(result->faults));
  PrintRemark(result->remark);
  fmt::print("  trace hash  {:016x}\n", result->digest);
  if (!result->void_because.empty()) {
    fmt::print("  proves nothing: {}\n", result->void_because);
  }
  PrintViolations(*result);
  return result->violation_count == 0;
}

bool RunMany(const Flags& flags, const Scenario& scenario) {
  RunOptions options;
  options.first_seed = flags.first_seed;
  options.seeds = flags.seeds.value_or(static_cast<uint64_t>(scenario.seeds));
  if (flags.scenarios.empty() && scenario.most_seeds > 0) {
    options.seeds =
        std::min(options.seeds, static_cast<uint64_t>(scenario.most_seeds));
  }
  if (scenario.most_seeds > 0) options.repeat_every = 0;
  options.jobs = flags.jobs;
  options.plant = flags.plant;
  if (flags.plant != Plant::kNone) options.max_failures = 1;
  const auto start = std::chrono::steady_clock::now();
  const absl::StatusOr<ScenarioSummary> summary =
      RunScenario(scenario, options);
  const std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  if (!summary.ok()) {
    fmt::print(stderr, "simulate: {}\n",
               std::string(summary.status().message()));
    return false;
  }
  fmt::print("{}\n", scenario.name);
  fmt::print(
      "  seeds       {} from {}, {:.0f} per second; {} run twice, {} prove "
      "nothing\n",
      summary->seeds, options.first_seed,
      static_cast<double>(summary->seeds + summary->repeated) / elapsed.count(),
      summary->repeated, summary->voided);
  PrintTally(summary->tally);
  fmt::print("  faults      {}\n", DescribeFaults(summary->faults));
  PrintRemark(summary->remark);
  fmt::print("  violations  {}\n", summary->violations);
  fmt::print("  trace hash  {:016x}\n", summary->digest);
  for (const SeedResult& failure : summary->failures) {
    PrintViolations(failure);
    fmt::print("  replay: {}\n", ReplayCommand(flags, scenario, failure.seed));
  }
  for (const std::string& complaint : summary->complaints) {
    fmt::print("  WRONG: {}\n", complaint);
  }
  return summary->ok();
}

// Reads the scenarios that the flags select. Empty after an error, which has
// been printed.
std::vector<Scenario> LoadScenarios(const Flags& flags) {
  std::vector<std::string> paths = flags.scenarios;
  if (paths.empty()) paths = ListScenarios(CAPSTAN_SCENARIO_DIR);
  std::vector<Scenario> scenarios;
  for (const std::string& path : paths) {
    absl::StatusOr<Scenario> scenario = LoadScenario(path);
    if (!scenario.ok()) {
      fmt::print(stderr, "simulate: {}\n",
                 std::string(scenario.status().message()));
      return {};
    }
    if (flags.scenarios.empty() &&
        !PlantConcerns(flags.plant, scenario->workload)) {
      continue;
    }
    scenarios.push_back(*std::move(scenario));
  }
  if (scenarios.empty()) fmt::print(stderr, "simulate: no scenarios\n");
  return scenarios;
}

std::string PlantNames() {
  std::string names;
  for (const Plant plant : AllPlants()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", PlantName(plant));
  }
  return names;
}

int Run(Flags flags) {
  const absl::StatusOr<Plant> plant = ParsePlant(flags.plant_name);
  if (!plant.ok()) {
    fmt::print(stderr, "simulate: {}\n", std::string(plant.status().message()));
    return 2;
  }
  flags.plant = *plant;
  const std::vector<Scenario> scenarios = LoadScenarios(flags);
  if (scenarios.empty()) return 2;
  if (!flags.seed && !flags.trace.empty()) {
    fmt::print(stderr, "simulate: --trace needs --seed\n");
    return 2;
  }
  bool ok = true;
  for (const Scenario& scenario : scenarios) {
    const bool right =
        flags.seed ? RunOne(flags, scenario) : RunMany(flags, scenario);
    ok = ok && right;
  }
  return ok ? 0 : 1;
}

int Main(int argc, char** argv) {
  Flags flags;
  flags.program = argv[0];
  CLI::App app("Runs scenarios with seeded faults in virtual time.");
  app.add_option("--scenario", flags.scenarios,
                 "a scenario file; again for more (all of tests/scenarios)");
  app.add_option("--seeds", flags.seeds, "how many (as the scenario says)");
  app.add_option("--first-seed", flags.first_seed, "where to begin (1)");
  app.add_option("--seed", flags.seed, "run this one alone");
  app.add_option("--trace", flags.trace, "with --seed: what happened, as text");
  app.add_option("--plant", flags.plant_name,
                 "a bug to plant, which must be found: " + PlantNames());
  app.add_option("--jobs", flags.jobs, "threads (2)")->check(CLI::Range(1, 64));
  CLI11_PARSE(app, argc, argv);
  return Run(std::move(flags));
}

}  // namespace
}  // namespace capstan::simulate

int main(int argc, char** argv) { return capstan::simulate::Main(argc, argv); }

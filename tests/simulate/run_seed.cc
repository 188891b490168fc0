#include "simulate/run_seed.h"

#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"

namespace capstan::simulate {
namespace {

std::string WhyVoid(const Scenario& scenario, const SeedResult& result) {
  const uint64_t faults =
      std::accumulate(result.faults.begin(), result.faults.end(), uint64_t{0});
  if (!scenario.faults.empty() && faults == 0) return "no fault happened";
  if (result.tally.replies == 0) return "no request was answered";
  return "";
}

void RunWorld(const Scenario& scenario, SimWorld& world, Workload& workload,
              Violations& violations, SeedResult& result) {
  FaultInjector injector(world, scenario.faults);
  workload.Start(world, violations);
  injector.Start();
  const auto broken = [&violations] { return !violations.empty(); };
  SimWorld::Result end =
      world.RunUntil(broken, world.clock().Now() + scenario.duration);
  injector.StopAndMend();
  workload.Finish();
  if (end == SimWorld::Result::kDeadline) {
    end = world.RunUntil([&] { return broken() || workload.finished(); },
                         world.clock().Now() + scenario.recovery);
  }
  const MonotonicTime now = world.clock().Now();
  if (end == SimWorld::Result::kLivelock) {
    violations.Add(now, "nodes are busy, but time does not pass");
  } else if (violations.empty() && end != SimWorld::Result::kDone) {
    violations.Add(now,
                   absl::StrCat("after the last fault: ", workload.Progress()));
  }
  workload.Check();
  result.faults = injector.counts();
}

}  // namespace

absl::StatusOr<SeedResult> RunSeed(const Scenario& scenario, uint64_t seed,
                                   Plant plant, std::ostream* trace_text) {
  absl::StatusOr<std::unique_ptr<Workload>> workload =
      NewWorkload(scenario, seed, plant);
  if (!workload.ok()) return workload.status();
  SeedResult result;
  result.seed = seed;
  Violations violations;
  SimWorldOptions options;
  options.network = scenario.network;
  options.trace_text = trace_text;
  SimWorld world(seed, options);
  RunWorld(scenario, world, **workload, violations, result);
  result.digest = world.trace().Digest();
  result.steps = world.steps();
  result.tally = (*workload)->tally();
  result.remark = (*workload)->Remark();
  result.violation_count = violations.count();
  result.violations = violations.texts();
  result.void_because = WhyVoid(scenario, result);
  return result;
}

}  // namespace capstan::simulate

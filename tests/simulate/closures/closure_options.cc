#include "simulate/closures/closure_options.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "base/status.h"
#include "simulate/strict_map.h"

namespace capstan::simulate {
namespace {

void ReadClosureMode(StrictMap& map, DigitMode& mode) {
  std::string name = "async";
  map.Read("mode", name);
  if (name == "async") {
    mode = DigitMode::kAsync;
  } else if (name == "sync") {
    mode = DigitMode::kSync;
  } else if (name == "bounded") {
    mode = DigitMode::kBounded;
  } else {
    map.Fail("mode", "must be async, sync or bounded");
  }
}

void ReadProgram(StrictMap& map, ClosureOptions& options) {
  map.Read("closures", options.closures, 1, 1'000'000);
  map.Read("epochs", options.epochs, 1, 1'000'000);
  map.Read("ranges", options.ranges, 1, 1'000'000);
  map.Read("batch", options.batch, 1, 1000);
  map.Read("every", options.every);
  map.Read("least_pause", options.least_pause);
  map.Read("pause", options.pause);
  map.ReadShare("stragglers", options.stragglers);
  map.Read("straggle", options.straggle);
  map.ReadShare("joins", options.joins);
  map.ReadShare("evaluations", options.evaluations);
  map.ReadShare("cancels", options.cancels);
  map.ReadShare("unwanted", options.unwanted);
  map.ReadShare("failures", options.failures);
  map.ReadShare("poisons", options.poisons);
}

}  // namespace

absl::StatusOr<ClosureOptions> ReadClosureOptions(const Scenario& scenario,
                                                  uint64_t seed) {
  StrictMap map(scenario.parameters,
                absl::StrCat(scenario.path, ": parameters"));
  ClosureOptions options;
  ReadClosureMode(map, options.mode);
  map.Read("servers", options.servers, 1, 1000);
  map.Read("workers", options.workers, 1, 10'000);
  map.Read("joiners", options.joiners, 0, 10'000);
  map.Read("concurrency", options.concurrency, 1, 100);
  map.Read("replicas", options.replicas, 1, 100);
  map.Read("backup", options.backup, 0, 100);
  map.Read("bound", options.bound, 0, 100);
  map.Read("tables", options.tables, 1, 1000);
  map.Read("shards", options.shards, 0, 1000);
  map.Read("queue", options.queue, 0, 1'000'000);
  map.Read("queued_per_worker", options.queued_per_worker, 0, 1000);
  map.Read("poison_limit", options.poison_limit, 1, 1'000'000);
  ReadProgram(map, options);
  map.ReadShare("late_copies", options.late_copies);
  map.Read("worker_life", options.worker_life);
  map.Read("away", options.away);
  map.Read("gentle", options.gentle);
  map.Read("roster", options.roster);
  map.Read("server_timeout", options.server_timeout);
  map.Read("server_scares", options.server_scares);
  map.Read("scare", options.scare);
  map.Read("restarts", options.restarts);
  map.Read("keys", options.keys);
  map.ReadShare("min_busy", options.min_busy);
  if (options.sync() && options.tables != 1) {
    map.Fail("tables", "must be 1 in synchronous rounds");
  }
  if (options.roster && options.restarts) {
    map.Fail("roster", "must be false with restarts");
  }
  if (options.restarts && options.tables != 1) {
    map.Fail("tables", "must be 1 with restarts");
  }
  if (options.keys && !options.restarts) {
    map.Fail("keys", "must not be without restarts");
  }
  if (options.restarts && options.ranges > options.closures) {
    map.Fail("ranges", "must not be more than closures with restarts");
  }
  CAPSTAN_RETURN_IF_ERROR(map.Finish());
  Random random = Random(seed).Fork("backup");
  options.backup = static_cast<int>(random.Between(0, options.backup));
  return options;
}

}  // namespace capstan::simulate

#include "simulate/digits/digit_options.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "simulate/strict_map.h"

namespace capstan::simulate {
namespace {

void ReadDigitMode(StrictMap& map, DigitMode& mode) {
  std::string name = "async";
  map.Read("mode", name);
  if (name == "async") {
    mode = DigitMode::kAsync;
  } else if (name == "sync") {
    mode = DigitMode::kSync;
  } else if (name == "bounded") {
    mode = DigitMode::kBounded;
  } else if (name == "mixed") {
    mode = DigitMode::kMixed;
  } else {
    map.Fail("mode", "must be async, sync, bounded or mixed");
  }
}

}  // namespace

absl::StatusOr<DigitOptions> ReadDigitOptions(const Scenario& scenario) {
  StrictMap map(scenario.parameters,
                absl::StrCat(scenario.path, ": parameters"));
  DigitOptions options;
  ReadDigitMode(map, options.mode);
  map.Read("servers", options.servers, 1, 16);
  map.Read("workers", options.workers, 1, 100);
  map.Read("lanes", options.lanes, 1, 100);
  map.Read("replicas", options.replicas, 1, 100);
  map.Read("backup", options.backup, 0, 100);
  map.Read("bound", options.bound, 0, 100);
  map.Read("pushes", options.pushes, 1, 16);
  map.Read("updates", options.updates, 1, 100'000);
  map.Read("padding", options.padding, 0, 10'000'000);
  map.Read("row_padding", options.row_padding, 0, 10'000'000);
  map.Read("every", options.every);
  map.Read("pause", options.pause);
  map.ReadShare("stragglers", options.stragglers);
  map.Read("straggle", options.straggle);
  map.Read("timeout", options.timeout);
  map.Read("lease", options.lease);
  map.ReadShare("again", options.again);
  map.ReadShare("twice", options.twice);
  map.Read("generation_life", options.generation_life);
  map.Read("term_life", options.term_life);
  CAPSTAN_RETURN_IF_ERROR(map.Finish());
  return options;
}

}  // namespace capstan::simulate

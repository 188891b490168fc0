#include "simulate/closures/closures.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "simulate/closures/closure_chief.h"
#include "simulate/closures/closure_context.h"
#include "simulate/closures/closure_worker.h"
#include "simulate/closures/key_chief.h"
#include "simulate/closures/restart_chief.h"
#include "simulate/store_server.h"

namespace capstan::simulate {
namespace {

class Closures final : public Workload {
 public:
  Closures(ClosureOptions options, Plant plant)
      : options_(options), plant_(plant), variables_(options_) {}

  void Start(SimWorld& world, Violations& violations) override {
    context_ = std::make_unique<ClosureContext>(ClosureContext{
        .world = world,
        .options = options_,
        .plant = plant_,
        .variables = variables_,
        .judge = ClosureJudge(world, violations, options_, variables_),
        .random = world.NewRandom("closures")});
    context_->news.resize(options_.all_workers());
    context_->newest_records.resize(static_cast<size_t>(options_.servers));
    SimNode& chief = world.AddNode("chief");
    world.Start(chief, [this](SimNode& node) {
      if (options_.keys) return RunKeyChief(*context_, node);
      return options_.restarts ? RunRestartChief(*context_, node)
                               : RunClosureChief(*context_, node);
    });
    for (size_t i = 0; i < static_cast<size_t>(options_.servers); ++i) {
      SimNode& server = world.AddNode(absl::StrCat("server", i));
      world.Start(server, [this, i](SimNode& node) {
        // When the scenario measures how workers wait for one another, they
        // must not wait for anything else.
        const bool busy = options_.min_busy == 0;
        return RunStoreServer(node, i, ClosureServerAddress(i), plant_, busy,
                              [this](const std::string& what) {
                                context_->judge.Violation(what);
                              });
      });
    }
    for (size_t i = 0; i < options_.all_workers(); ++i) {
      SimNode& worker = world.AddNode(absl::StrCat("worker", i));
      world.Start(worker, [this, i](SimNode& node) {
        return RunClosureWorker(*context_, node, i);
      });
    }
  }

  void Finish() override { context_->finishing = true; }
  bool finished() override { return context_->over; }
  std::string Progress() const override { return context_->progress; }
  void Check() override {}
  const Tally& tally() const override { return context_->judge.tally(); }
  std::string Remark() const override { return context_->judge.BusyText(); }

 private:
  const ClosureOptions options_;
  const Plant plant_;
  const ClosureVariables variables_;
  std::unique_ptr<ClosureContext> context_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Workload>> NewClosures(const Scenario& scenario,
                                                      uint64_t seed,
                                                      Plant plant) {
  const absl::StatusOr<ClosureOptions> options =
      ReadClosureOptions(scenario, seed);
  if (!options.ok()) return options.status();
  return std::make_unique<Closures>(*options, plant);
}

}  // namespace capstan::simulate

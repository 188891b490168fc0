#include "simulate/digits/exact_digits.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "simulate/digits/digit_chief.h"
#include "simulate/digits/digit_context.h"
#include "simulate/digits/digit_worker.h"
#include "simulate/store_server.h"

namespace capstan::simulate {
namespace {

class ExactDigits final : public Workload {
 public:
  ExactDigits(DigitOptions options, uint64_t seed, Plant plant)
      : options_(options), plant_(plant), variables_(options_, seed) {}

  void Start(SimWorld& world, Violations& violations) override {
    context_ = std::make_unique<DigitContext>(DigitContext{
        .world = world,
        .options = options_,
        .plant = plant_,
        .variables = variables_,
        .judge = DigitJudge(world, violations, options_, variables_),
        .ledger = DigitLedger(options_, plant_, world.NewRandom("ledger"))});
    SimNode& chief = world.AddNode("chief");
    world.Start(chief, [this](SimNode& node) {
      return RunDigitChief(*context_, node);
    });
    for (size_t i = 0; i < static_cast<size_t>(options_.servers); ++i) {
      SimNode& server = world.AddNode(DigitServerName(i));
      world.Start(server, [this, i](SimNode& node) {
        return RunStoreServer(node, i, DigitServerAddress(i), plant_,
                              /*busy=*/true, [this](const std::string& what) {
                                context_->judge.Violation(what);
                              });
      });
    }
    for (size_t i = 0; i < static_cast<size_t>(options_.workers); ++i) {
      SimNode& worker = world.AddNode(absl::StrCat("worker", i));
      world.Start(worker, [this, i](SimNode& node) {
        return RunDigitWorker(*context_, node, i);
      });
    }
  }

  void Finish() override {
    context_->finishing = true;
    context_->ledger.Stop();
  }

  bool finished() override { return context_->over; }

  std::string Progress() const override {
    const DigitLedger& ledger = context_->ledger;
    if (ledger.AllOver()) return "the coordinator does not come to its end";
    return absl::StrCat("the steps are over up to ", ledger.Watermark(), " of ",
                        ledger.num_steps(), " only");
  }

  void Check() override {
    context_->judge.tally().retries = context_->ledger.repeats();
  }
  const Tally& tally() const override { return context_->judge.tally(); }

 private:
  const DigitOptions options_;
  const Plant plant_;
  const DigitVariables variables_;
  std::unique_ptr<DigitContext> context_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Workload>> NewExactDigits(
    const Scenario& scenario, uint64_t seed, Plant plant) {
  const absl::StatusOr<DigitOptions> options = ReadDigitOptions(scenario);
  if (!options.ok()) return options.status();
  return std::make_unique<ExactDigits>(*options, seed, plant);
}

}  // namespace capstan::simulate

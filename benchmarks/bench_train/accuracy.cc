// Does it learn as well as libtorch alone from the same number of examples?
#include <torch/utils.h>

#include <string>
#include <vector>

#include "base/status.h"
#include "bench_train/job.h"
#include "bench_train/measure.h"
#include "capstan/trainer.h"

namespace capstan::bench {
namespace {

constexpr int kWorkers = 4;

absl::StatusOr<double> AccuracyOf(int seed, bool sync) {
  double accuracy = 0;
  const absl::Status status =
      RunJob(kWorkers, false, [&](Cluster& cluster, TrainDefinitions& program) {
        // The weights come from the coordinator's copy of the model.
        torch::manual_seed(static_cast<uint64_t>(seed));
        TrainerOptions options;
        options.optimizer = Sgd{.learning_rate = kMlpRate};
        options.loss = SparseCategoricalCrossentropy{};
        options.metrics = {Accuracy{}};
        if (sync) options.update = Sync{.replicas = kWorkers};
        Trainer trainer(cluster, program.mlp, options);
        FitOptions fit;
        fit.epochs = kAccuracyEpochs;
        fit.verbose = Verbose::kSilent;
        trainer.Fit(sync ? program.epoch_in_quarters : program.epoch, fit);
        EvaluateOptions evaluate;
        evaluate.verbose = Verbose::kSilent;
        accuracy = trainer.Evaluate(program.test, evaluate).at("accuracy");
      });
  if (!status.ok()) return status;
  return accuracy;
}

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

}  // namespace

absl::Status MeasureAccuracy(int rounds, Report& report) {
  std::vector<double> alone;
  std::vector<double> sync;
  std::vector<double> async;
  for (int seed = 1; seed <= rounds; ++seed) {
    const absl::StatusOr<double> plain = RunAlone("accuracy", seed);
    if (!plain.ok()) return plain.status();
    alone.push_back(*plain);
    const absl::StatusOr<double> in_rounds = AccuracyOf(seed, true);
    if (!in_rounds.ok()) return in_rounds.status();
    sync.push_back(*in_rounds);
    const absl::StatusOr<double> at_once = AccuracyOf(seed, false);
    if (!at_once.ok()) return at_once.status();
    async.push_back(*at_once);
  }
  const double reference = 100 * Mean(alone);
  report.Set("accuracy_alone", reference);
  const auto row = [&](const std::string& key,
                       const std::vector<double>& values) {
    const double mean = 100 * Mean(values);
    report.Set(key, mean);
    report.PrintRow(key, "%", mean, reference, mean / reference);
  };
  row("accuracy_sync_4", sync);
  row("accuracy_async_4", async);
  return absl::OkStatus();
}

}  // namespace capstan::bench

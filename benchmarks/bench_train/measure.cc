#include "bench_train/measure.h"

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench_train/job.h"
#include "bench_train/plain.h"
#include "capstan/trainer.h"
#include "harness/statistics.h"
#include "launch/blas/blas_info.h"

namespace capstan::bench {
namespace {

constexpr int kMlpSteps = 2'000;
constexpr int kClickSteps = 300;

double Now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Examples per second of a custom loop: `steps` steps, `packed` per function.
template <typename Function, typename Replicas, typename Batches>
double CustomLoop(ClusterCoordinator& coordinator, const Function& function,
                  const Replicas& replicas, const Batches& batches,
                  int64_t batch, int steps, int packed, bool prefetch) {
  const auto run = [&](int count) {
    for (int i = 0; i < count; i += packed) {
      coordinator.Schedule(function, replicas, batches, packed, prefetch);
    }
    coordinator.Join();
  };
  run(steps / 10);
  const double start = Now();
  run(steps);
  return static_cast<double>(steps * batch) / (Now() - start);
}

// The custom loop of a model.
double Loop(Cluster& cluster, TrainDefinitions& program,
            const std::string& what, int packed, bool prefetch) {
  ClusterCoordinator coordinator(cluster);
  if (what == "mlp") {
    const auto batches =
        coordinator.CreatePerWorkerDataset(program.images).MakeIterator();
    const auto replicas =
        coordinator.CreatePerWorkerResource(program.mlp.replicas());
    return CustomLoop(coordinator, program.mlp_steps, replicas, batches,
                      kMlpBatch, kMlpSteps, packed, prefetch);
  }
  const auto batches =
      coordinator.CreatePerWorkerDataset(program.click_data).MakeIterator();
  const auto replicas =
      coordinator.CreatePerWorkerResource(program.clicks.replicas());
  return CustomLoop(coordinator, program.click_steps, replicas, batches,
                    kClickBatch, kClickSteps, packed, prefetch);
}

std::unique_ptr<Trainer> MakeTrainer(Cluster& cluster,
                                     TrainDefinitions& program,
                                     const std::string& what) {
  TrainerOptions options;
  options.metrics = {Accuracy{}};
  if (what == "mlp") {
    options.optimizer = Sgd{.learning_rate = kMlpRate};
    options.loss = SparseCategoricalCrossentropy{};
    return std::make_unique<Trainer>(cluster, program.mlp, options);
  }
  options.optimizer = Sgd{.learning_rate = kClickRate};
  options.loss = BinaryCrossentropy{};
  return std::make_unique<Trainer>(cluster, program.clicks, options);
}

// Examples per second of Fit.
double Fit(Trainer& trainer, TrainDefinitions& program,
           const std::string& what) {
  const bool mlp = what == "mlp";
  const DatasetHandle& data = mlp ? program.images : program.click_data;
  const int steps = mlp ? kMlpSteps : kClickSteps;
  FitOptions options;
  options.verbose = Verbose::kSilent;
  options.steps_per_epoch = steps / 10;
  trainer.Fit(data, options);
  options.steps_per_epoch = steps;
  const double start = Now();
  trainer.Fit(data, options);
  return static_cast<double>(steps * (mlp ? kMlpBatch : kClickBatch)) /
         (Now() - start);
}

struct Rates {
  std::vector<double> plain;
  std::vector<double> one;
  std::vector<double> packed;
  std::vector<double> prefetch;
  std::vector<double> fit;
  std::vector<double> two;
};

double Ratio(const std::vector<double>& ours,
             const std::vector<double>& reference) {
  std::vector<double> ratios;
  for (size_t i = 0; i < ours.size(); ++i) {
    ratios.push_back(ours[i] / reference[i]);
  }
  return Median(ratios);
}

// One round: alone and with a server, alternating.
absl::Status Round(const std::string& what, Rates& rates) {
  const absl::StatusOr<double> plain =
      RunAlone(what, what == "mlp" ? kMlpSteps : kClickSteps);
  if (!plain.ok()) return plain.status();
  rates.plain.push_back(*plain);
  CAPSTAN_RETURN_IF_ERROR(
      RunJob(1, true, [&](Cluster& cluster, TrainDefinitions& program) {
        const auto trainer = MakeTrainer(cluster, program, what);
        rates.one.push_back(Loop(cluster, program, what, 1, false));
        rates.fit.push_back(Fit(*trainer, program, what));
        rates.packed.push_back(Loop(cluster, program, what, 10, false));
        rates.prefetch.push_back(Loop(cluster, program, what, 10, true));
      }));
  return RunJob(2, true, [&](Cluster& cluster, TrainDefinitions& program) {
    const auto trainer = MakeTrainer(cluster, program, what);
    rates.two.push_back(Loop(cluster, program, what, 1, false));
  });
}

absl::Status Measure(const std::string& what, int rounds, Report& report) {
  Rates rates;
  for (int i = 0; i < rounds; ++i) CAPSTAN_RETURN_IF_ERROR(Round(what, rates));
  const std::string name = what == "mlp" ? "mlp" : "wide_deep";
  const double plain = Median(rates.plain);
  const auto row = [&](const std::string& key,
                       const std::vector<double>& ours) {
    const double ratio = Ratio(ours, rates.plain);
    report.Set(key, ratio);
    report.Set(key + "_examples_per_second", Median(ours));
    report.PrintRow(key, "ex/s", Median(ours), plain, ratio);
  };
  report.Set("plain_" + name + "_examples_per_second", plain);
  row("train_ratio_" + name, rates.one);
  row("train_ratio_" + name + "_packed", rates.packed);
  row("train_ratio_" + name + "_prefetch", rates.prefetch);
  const double fit = Ratio(rates.fit, rates.one);
  report.Set(what == "mlp" ? "fit_ratio" : "fit_ratio_" + name, fit);
  report.PrintRow("fit_ratio of " + name, "ex/s", Median(rates.fit),
                  Median(rates.one), fit);
  const double scaling = Median(rates.two) / Median(rates.one);
  report.Set("scaling_2_workers_" + name, scaling);
  report.PrintRow("scaling_2_workers_" + name, "ex/s", Median(rates.two),
                  Median(rates.one), scaling);
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureBlas(Report& report) {
  const absl::StatusOr<double> gflops = RunAlone("sgemm", 1);
  if (!gflops.ok()) return gflops.status();
  report.Set("sgemm_gflops", *gflops);
  // The children load the same BLAS.
  if (const std::optional<BlasInfo> blas = FindBlas()) {
    report.SetText("blas", blas->path);
    report.SetText("blas_core", blas->core);
  }
  report.PrintRow("sgemm_gflops", "GFLOP/s", *gflops);
  return absl::OkStatus();
}

absl::StatusOr<double> MeasureRate(const std::string& what, int workers) {
  const std::string model = what == "fit" ? "mlp" : what;
  double rate = 0;
  const absl::Status status =
      RunJob(workers, false, [&](Cluster& cluster, TrainDefinitions& program) {
        const auto trainer = MakeTrainer(cluster, program, model);
        rate = what == "fit" ? Fit(*trainer, program, model)
                             : Loop(cluster, program, model, 1, false);
      });
  if (!status.ok()) return status;
  return rate;
}

absl::Status MeasureMlp(int rounds, Report& report) {
  return Measure("mlp", rounds, report);
}

absl::Status MeasureClicks(int rounds, Report& report) {
  return Measure("clicks", rounds, report);
}

}  // namespace capstan::bench

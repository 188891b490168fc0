// What does a parameter server cost a training, and what does it bring?
//
//   bench_train --json FILE [--only mlp,clicks,accuracy] [--rounds 3]
//
// One worker and one server, each a process on a core of its own, against the
// same model trained by libtorch alone on one core; figures are medians of the
// rounds' ratios.
//   train_ratio_mlp, train_ratio_wide_deep: examples/s of a custom loop with a
//            step to a function, over libtorch's; every step sees its worker's
//            last update
//   ..._packed: the same with 10 steps to a function
//   ..._prefetch: values are read ahead, and are one step older
//   fit_ratio: Fit with a metric, over the custom loop
//   scaling_2_workers_...: two workers on the two cores, over one
//   accuracy_...: the MLP's on the test images after 3 epochs, the mean of as
//            many seeds as rounds: alone, in synchronous training by 4 workers
//            whose batches are a quarter, in asynchronous by 4 workers
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench_train/job.h"
#include "bench_train/measure.h"
#include "launch/blas/restart_for_blas.h"

namespace capstan::bench {
namespace {

absl::Status RunAll(const std::vector<std::string>& only, int rounds,
                    const std::string& command, const std::string& json) {
  Report report(command, rounds);
  CAPSTAN_RETURN_IF_ERROR(report.Write(json));
  report.PrintHeader("training", "Capstan");
  CAPSTAN_RETURN_IF_ERROR(MeasureBlas(report));
  for (const std::string& name : only) {
    absl::Status status;
    if (name == "mlp") status = MeasureMlp(rounds, report);
    if (name == "clicks") status = MeasureClicks(rounds, report);
    if (name == "accuracy") status = MeasureAccuracy(rounds, report);
    CAPSTAN_RETURN_IF_ERROR(WithContext(status, name));
  }
  return report.Write(json);
}

int Main(int argc, char** argv) {
  CLI::App app("What a parameter server costs a training");
  std::string json;
  const std::vector<std::string> all = {"mlp", "clicks", "accuracy"};
  std::vector<std::string> only = all;
  int rounds = 3;
  app.add_option("--json", json, "where to write the figures");
  app.add_option("--only", only, "which experiments, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(all));
  app.add_option("--rounds", rounds, "how often; figures are medians")
      ->check(CLI::Range(1, 1000));
  // What the children are told. A group without a name is not in --help.
  std::string cluster;
  std::string task_name;
  std::string what;
  int core = 0;
  int steps = 0;
  auto* task = app.add_subcommand("task")->group("");
  task->add_option("cluster", cluster)->required();
  task->add_option("task", task_name)->required();
  task->add_option("core", core)->required();
  int workers = 1;
  auto* rate = app.add_subcommand(
      "rate", "one figure, examples/s, with tasks that are not pinned");
  rate->add_option("what", what, "mlp, clicks or fit")->required();
  rate->add_option("--workers", workers);
  auto* alone = app.add_subcommand("alone")->group("");
  alone->add_option("what", what)->required();
  alone->add_option("steps", steps)->required();
  CLI11_PARSE(app, argc, argv);

  absl::Status status;
  if (task->parsed()) {
    status = RunTask(cluster, task_name, core);
  } else if (alone->parsed()) {
    status = SayAlone(what, steps);
  } else if (rate->parsed()) {
    const absl::StatusOr<double> found = MeasureRate(what, workers);
    status = found.status();
    if (found.ok()) fmt::print("{}\n", *found);
  } else if (json.empty()) {
    status = absl::InvalidArgumentError("--json FILE is required");
  } else {
    const std::vector<std::string> words(argv, argv + argc);
    status =
        RunAll(only, rounds, fmt::format("{}", fmt::join(words, " ")), json);
  }
  if (status.ok()) return 0;
  fmt::print(stderr, "bench_train: {}\n", Describe(status));
  return 1;
}

}  // namespace
}  // namespace capstan::bench

int main(int argc, char** argv) {
  capstan::RestartForBlas(argc, argv);
  return capstan::bench::Main(argc, argv);
}

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

#include "base/status.h"
#include "bench_train/job.h"
#include "bench_train/measure.h"
#include "harness/bench_program.h"
#include "launch/blas/restart_for_blas.h"

namespace capstan::bench {
namespace {

absl::Status MeasureAll(const BenchProgram::Words& chosen, int rounds,
                        Report& report) {
  report.PrintHeader("training", "Capstan");
  CAPSTAN_RETURN_IF_ERROR(MeasureBlas(report));
  for (const std::string& name : chosen) {
    absl::Status status;
    if (name == "mlp") status = MeasureMlp(rounds, report);
    if (name == "clicks") status = MeasureClicks(rounds, report);
    if (name == "accuracy") status = MeasureAccuracy(rounds, report);
    CAPSTAN_RETURN_IF_ERROR(WithContext(status, name));
  }
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  using Words = BenchProgram::Words;
  BenchProgram program("bench_train",
                       "What a parameter server costs a training",
                       {"mlp", "clicks", "accuracy"}, 3);
  program.AddChild("task", {"cluster", "task", "core"}, [](const Words& words) {
    return RunTask(words[0], words[1], std::stoi(words[2]));
  });
  program.AddChild("alone", {"what", "steps"}, [](const Words& words) {
    return SayAlone(words[0], std::stoi(words[1]));
  });
  std::string what;
  int workers = 1;
  CLI::App& rate = program.AddCommand(
      "rate", "one figure, examples/s, with tasks that are not pinned",
      [&what, &workers] {
        const absl::StatusOr<double> found = MeasureRate(what, workers);
        if (found.ok()) fmt::print("{}\n", *found);
        return found.status();
      });
  rate.add_option("what", what, "mlp, clicks or fit")->required();
  rate.add_option("--workers", workers);
  return program.Run(argc, argv, MeasureAll);
}

}  // namespace
}  // namespace capstan::bench

int main(int argc, char** argv) {
  capstan::RestartForBlas(argc, argv);
  return capstan::bench::Main(argc, argv);
}

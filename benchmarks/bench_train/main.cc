// What does a parameter server cost training, and what does it gain?
//
//   bench_train --json FILE [--only mlp,clicks,accuracy] [--rounds 3]
//
// One worker and one server, each a process pinned to its own core, against the
// same model trained by libtorch alone on one core; figures are medians of the
// rounds' ratios.
//   train_ratio_mlp, train_ratio_wide_deep: examples/s of a custom loop with
//            one step per function, over libtorch's; every step sees its
//            worker's last update
//   ..._packed: the same with 10 steps per function
//   ..._prefetch: values are prefetched, and are one step older
//   fit_ratio: Fit with a metric, over the custom loop
//   scaling_2_workers_...: two workers on the two cores, over one
//   accuracy_...: the MLP's on the test images after kAccuracyEpochs epochs,
//            the mean over as many seeds as rounds: alone; in synchronous
//            training by 4 workers with batches a quarter the size; in
//            asynchronous training by 4 workers
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

// A job of real processes on this machine, each pinned to its own core.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench_train/definitions.h"
#include "capstan/coordinator.h"
#include "capstan/program.h"

namespace capstan::bench {

// Runs `body` as the coordinator of a job of one server and `workers`. If
// `pinned`, a single worker runs on core 1 and everything else on core 0; two
// workers have a core each, and the kernel places everything else. If not
// `pinned`, the kernel places all tasks.
absl::Status RunJob(int workers, bool pinned,
                    const std::function<void(Cluster&, TrainDefinitions&)>&);

// What a child process runs: one task, until the job ends.
absl::Status RunTask(const std::string& cluster, const std::string& task,
                     int core);

// For how many epochs accuracy is trained.
inline constexpr int kAccuracyEpochs = 5;

// RunAlone: the figure that a child, running on core 1 alone, reports for
// `what`. SayAlone: the child's part. For "accuracy", `steps` is the seed.
absl::StatusOr<double> RunAlone(const std::string& what, int steps);
absl::Status SayAlone(const std::string& what, int steps);

}  // namespace capstan::bench

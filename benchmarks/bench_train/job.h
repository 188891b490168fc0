// A job of real processes on this machine, each on a core of its own.
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

// Runs `body` as the coordinator of a job of one server and `workers`. With
// `pinned` one worker is on core 1, and all else on core 0; of two workers each
// has a core, and all else is where the kernel puts it, as are all tasks
// without.
absl::Status RunJob(int workers, bool pinned,
                    const std::function<void(Cluster&, TrainDefinitions&)>&);

// What a child does: a task until the job ends.
absl::Status RunTask(const std::string& cluster, const std::string& task,
                     int core);

// How long accuracies are trained for.
inline constexpr int kAccuracyEpochs = 5;

// What a child says of `what`, which runs on core 1 alone. `steps` is the seed
// of "accuracy".
absl::StatusOr<double> RunAlone(const std::string& what, int steps);
absl::Status SayAlone(const std::string& what, int steps);

}  // namespace capstan::bench

// A job of real processes on this machine, with this one as its coordinator.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench_dispatch/functions.h"
#include "capstan/coordinator.h"
#include "capstan/program.h"
#include "launch/local/held_ports.h"
#include "launch/system/child_process.h"

namespace capstan {

class BenchJob {
 public:
  // A job of one server and `workers`, each a separate process or, with
  // `threads`, all in one.
  static absl::StatusOr<std::unique_ptr<BenchJob>> Start(int workers,
                                                         bool threads);

  // The code to measure, as the body of the program.
  using Body = std::function<void(ClusterCoordinator&, BenchFunctions&)>;
  absl::Status Run(const CoordinatorOptions& options, const Body& body);

  // Kills the process of a worker, and restarts it.
  absl::Status Kill(int worker);
  absl::Status Restart(int worker);

 private:
  BenchJob(HeldPorts ports, std::string cluster, int workers, bool threads);

  const HeldPorts ports_;
  const std::string cluster_;  // as in TF_CONFIG
  const int workers_;
  const bool threads_;
  std::vector<std::unique_ptr<ChildProcess>> processes_;  // workers first
};

// What the child processes run: the tasks of `roles` ("worker/0,worker/1"),
// until the job ends.
absl::Status RunTasks(const std::string& cluster, const std::string& roles);

}  // namespace capstan

// A job of real processes on this machine, with this one as its coordinator.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bench_checkpoint/workload.h"
#include "capstan/coordinator.h"
#include "capstan/program.h"

namespace capstan::bench {

inline constexpr int kServers = 2;
inline constexpr int kWorkers = 2;

struct RunningJob {
  ClusterCoordinator& coordinator;
  const Workload& workload;
  std::vector<pid_t> servers;
};

// Runs `body` in a job of kServers and kWorkers. The servers can access the
// directory `checkpoint_root`, unless it is empty.
absl::Status RunJob(const std::string& checkpoint_root,
                    const std::function<void(RunningJob&)>& body);

// What a child process runs: one task, until the job ends.
absl::Status RunTask(const std::string& cluster, const std::string& task,
                     const std::string& checkpoint_root);

}  // namespace capstan::bench

// The plan of a job on this machine: its tasks, and how each is started.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/cluster_spec.h"

namespace capstan {

struct LocalJobOptions {
  int workers = 2;
  int servers = 1;
  bool evaluator = false;
  // What the chief, the workers and the evaluator run: a path, and the
  // arguments starting with the program's name.
  std::string program = {};
  std::vector<std::string> arguments = {};
  // The same for the parameter servers; by default, this program.
  std::string server_program = "/proc/self/exe";
  std::vector<std::string> server_arguments = {"capstan", "server"};
  // What all tasks inherit, as "NAME=value".
  std::vector<std::string> environment = {};
  // Distinguishes this job from others.
  std::string job_id = {};
  // The folder of the certificates; "" for none.
  std::string tls = {};
  // Where the job saves its checkpoints; "" for the inherited directory.
  std::string checkpoint_directory = {};
  // The chief's, see TaskOptions; "" for none.
  std::string over_file = {};
  // How many functions each worker runs at once; 0: as inherited, or one.
  int concurrency = 0;
  // The machine's cores, for the workers to share; 0 to not tell them.
  int cores = 0;
  // How many bytes the variables of each server may take; 0 to not tell the
  // server.
  uint64_t server_memory = 0;
  // The kernels for OpenBLAS in all tasks but the servers; "" to let it choose.
  std::string blas_core = {};
};

// How to start one process.
struct LocalTask {
  TaskId id = {};
  std::string program = {};
  std::vector<std::string> arguments = {};
  std::vector<std::string> environment = {};
};

struct LocalJob {
  ClusterSpec spec = {};
  // In start order: tasks that wait for others come last, and the chief last of
  // all.
  std::vector<LocalTask> tasks = {};
};

// The tasks of such a job, in the order of LocalJob.
std::vector<TaskId> TasksOf(const LocalJobOptions& options);

// Plans the job. `addresses` has one address for each task of TasksOf, in that
// order; each task is told about the job as TaskEnvironment says.
// InvalidArgument unless the cluster is complete. Pure; thread-safe.
absl::StatusOr<LocalJob> PlanLocalJob(
    const LocalJobOptions& options, const std::vector<std::string>& addresses);

}  // namespace capstan

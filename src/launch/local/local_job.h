// The plan of a job on this machine: which tasks there are, and what each is
// started with.
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
  // arguments with the program's name first.
  std::string program = {};
  std::vector<std::string> arguments = {};
  // What the parameter servers run, likewise. This very program, unless given.
  std::string server_program = "/proc/self/exe";
  std::vector<std::string> server_arguments = {"capstan", "server"};
  // What all tasks inherit, as "NAME=value".
  std::vector<std::string> environment = {};
  // Tells this job from others.
  std::string job_id = {};
  // The folder of the certificates; "" for none.
  std::string tls = {};
  // Where the job saves its checkpoints; "" for what is inherited.
  std::string checkpoint_directory = {};
  // The chief's, see TaskOptions; "" for none.
  std::string over_file = {};
  // How many functions each worker runs at once; 0: as they inherit, or one.
  int concurrency = 0;
  // Of this machine, for the workers to share; 0 if they are not told.
  int cores = 0;
  // What the variables of each server may take, in bytes; 0 if they are not
  // told.
  uint64_t server_memory = 0;
  // The kernels that OpenBLAS is to take in all tasks but the servers; "" to
  // let it choose.
  std::string blas_core = {};
};

// What one process is started with.
struct LocalTask {
  TaskId id = {};
  std::string program = {};
  std::vector<std::string> arguments = {};
  std::vector<std::string> environment = {};
};

struct LocalJob {
  ClusterSpec spec = {};
  // In the order in which to start them: those that wait for others come last,
  // the chief as the very last.
  std::vector<LocalTask> tasks = {};
};

// The tasks of such a job, in the order of LocalJob.
std::vector<TaskId> TasksOf(const LocalJobOptions& options);

// Plans the job. Each task of TasksOf has the address at its place in
// `addresses`, and is told about the job as TaskEnvironment says.
// InvalidArgument unless it is a whole cluster. Pure; thread-safe.
absl::StatusOr<LocalJob> PlanLocalJob(
    const LocalJobOptions& options, const std::vector<std::string>& addresses);

}  // namespace capstan

// The plan of a job on this machine: which tasks there are, and what each is
// started with.
#pragma once

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
};

// What one process is started with.
struct LocalTask {
  TaskId id = {};
  int port = 0;
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

// How many ports such a job needs.
int CountTasks(const LocalJobOptions& options);

// Plans the job. Each task has one of `ports` (as many as CountTasks says) on
// 127.0.0.1, and in its environment TF_CONFIG, CAPSTAN_TASK, CAPSTAN_JOB_ID
// and, if given, CAPSTAN_TLS; variables of the caller that would describe
// another cluster are left out.
// InvalidArgument unless it is a whole cluster. Pure; thread-safe.
absl::StatusOr<LocalJob> PlanLocalJob(const LocalJobOptions& options,
                                      const std::vector<int>& ports);

}  // namespace capstan

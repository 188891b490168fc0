// The environment variables that tell a new process who is in its job and which
// task it is. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capstan/cluster_spec.h"

namespace capstan {

struct TaskEnvironmentOptions {
  // What the task inherits, as "NAME=value".
  std::vector<std::string> inherited = {};
  // Distinguishes its job from others.
  std::string job_id = {};
  // The certificate folder and the job's token file; "" for the inherited ones.
  std::string tls = {};
  std::string token = {};
  // The directory for checkpoints; "" for the inherited one.
  std::string checkpoint_directory = {};
  // See TaskOptions; "" for none.
  std::string over_file = {};
  // How many threads its computations may use; 0 for the inherited number.
  int compute_threads = 0;
  // How many functions a worker runs at once; 0 for the inherited number.
  int concurrency = 0;
  // How many bytes a server's variables may take; 0 for the inherited limit.
  uint64_t memory_bytes = 0;
  // The kernels for OpenBLAS (blas_core.h); "" to let it choose.
  std::string blas_core = {};
};

// The environment of `task` in the cluster `spec`: what is inherited, without
// variables that describe another cluster, plus TF_CONFIG, CAPSTAN_TASK,
// CAPSTAN_JOB_ID and, if given, CAPSTAN_TLS, CAPSTAN_TOKEN,
// CAPSTAN_CHECKPOINT_DIR, CAPSTAN_OVER_FILE and CAPSTAN_CONCURRENCY. Unless
// inherited, compute_threads also sets OMP_NUM_THREADS, OPENBLAS_NUM_THREADS
// and CAPSTAN_COMPUTE_THREADS, memory_bytes sets CAPSTAN_MEMORY, and blas_core
// sets OPENBLAS_CORETYPE.
std::vector<std::string> TaskEnvironment(TaskId task, const ClusterSpec& spec,
                                         const TaskEnvironmentOptions& options);

}  // namespace capstan

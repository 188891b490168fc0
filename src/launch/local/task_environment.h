// How a process learns who is in its job and which task it is: the variables
// that it is started with.
// Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capstan/cluster_spec.h"

namespace capstan {

struct TaskEnvironmentOptions {
  // What the task inherits, as "NAME=value".
  std::vector<std::string> inherited = {};
  // Tells its job from others.
  std::string job_id = {};
  // The folder of the certificates and the file of the job's token; "" for what
  // is inherited.
  std::string tls = {};
  std::string token = {};
  // The directory for checkpoints; "" for what is inherited.
  std::string checkpoint_directory = {};
  // See TaskOptions; "" for none.
  std::string over_file = {};
  // How many threads its mathematics may use; 0 for what is inherited.
  int compute_threads = 0;
  // How many functions a worker runs at once; 0 for what is inherited.
  int concurrency = 0;
  // What the variables of a server may take; 0 for what is inherited.
  uint64_t memory_bytes = 0;
  // The kernels that OpenBLAS is to take (blas_core.h); "" to let it choose.
  std::string blas_core = {};
};

// The environment of `task` in the cluster `spec`: what is inherited, without
// what would describe another cluster, and TF_CONFIG, CAPSTAN_TASK,
// CAPSTAN_JOB_ID and, if given, CAPSTAN_TLS, CAPSTAN_TOKEN,
// CAPSTAN_CHECKPOINT_DIR, CAPSTAN_OVER_FILE and CAPSTAN_CONCURRENCY. With
// compute_threads also OMP_NUM_THREADS, OPENBLAS_NUM_THREADS and
// CAPSTAN_COMPUTE_THREADS, with memory_bytes CAPSTAN_MEMORY, and with blas_core
// OPENBLAS_CORETYPE, each unless it is inherited.
std::vector<std::string> TaskEnvironment(TaskId task, const ClusterSpec& spec,
                                         const TaskEnvironmentOptions& options);

}  // namespace capstan

// How a task runs: its cluster, and the settings that the user may change.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/async/clock.h"
#include "base/log.h"
#include "capstan/resolver.h"

namespace capstan {

struct TaskOptions {
  // Must name a task; the job id may be empty.
  ResolvedCluster cluster = {};
  // Where to listen; if empty, the task's address in the cluster.
  std::string listen = {};
  // Certificates as `capstan certs` makes them; if empty, plain connections.
  std::string tls_directory = {};
  // How often to check whether they have been replaced.
  Duration tls_reload = std::chrono::seconds(10);
  // A file with the job's token, which this task then presents to the others
  // and requires of them (launch/security/job_token.h); none if empty. Needs
  // TLS.
  std::string token_file = {};
  // Listen beyond this machine without TLS.
  bool insecure_network = false;
  LogLevel log_level = LogLevel::kInfo;
  // I/O threads of a parameter server; 0: one per core. Other tasks have one.
  int threads = 0;
  // How many functions a worker runs at once.
  int concurrency = 1;
  // Compute threads per function; 0: an equal share of the cores.
  int compute_threads = 0;
  // How many bytes a parameter server's variables may take. 0: four fifths of
  // the memory that the machine, or the container, can spare at the start.
  uint64_t memory_bytes = 0;
  // Where a parameter server writes and reads checkpoints; created if missing.
  // If empty, nowhere: the coordinator reads and writes for the server.
  std::string checkpoint_root = {};
  // A file that the coordinator creates when it starts to tell the tasks that
  // the job has ended. It tells whoever started the coordinator that restarting
  // it is pointless. None if empty.
  std::string over_file = {};
  // How long at the start the coordinator waits for all tasks, and a task for
  // the coordinator; and how long a task waits for a coordinator that is gone.
  Duration start_timeout = std::chrono::seconds(120);
  Duration return_timeout = std::chrono::seconds(60);
};

// The options set by the environment: CAPSTAN_LISTEN, CAPSTAN_TLS,
// CAPSTAN_TOKEN, CAPSTAN_INSECURE_NETWORK (1 or 0), CAPSTAN_LOG_LEVEL,
// CAPSTAN_THREADS, CAPSTAN_CONCURRENCY, CAPSTAN_COMPUTE_THREADS, CAPSTAN_MEMORY
// in megabytes (of 1,000,000 bytes), CAPSTAN_CHECKPOINT_DIR (a server's
// checkpoint_root), CAPSTAN_OVER_FILE, and CAPSTAN_START_TIMEOUT,
// CAPSTAN_RETURN_TIMEOUT and CAPSTAN_TLS_RELOAD in seconds. InvalidArgument,
// naming the variable, for an invalid value.
inline constexpr uint64_t kMegabyte = 1'000'000;
absl::StatusOr<TaskOptions> ReadTaskOptions(const Environment& environment,
                                            ResolvedCluster cluster);

}  // namespace capstan

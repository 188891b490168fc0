// How a task is run: its cluster, and what the user may set about it.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/async/clock.h"
#include "base/log.h"
#include "capstan/resolver.h"

namespace capstan {

struct TaskOptions {
  // With a task; the job id may be empty.
  ResolvedCluster cluster = {};
  // Where to listen; the task's address in the cluster if empty.
  std::string listen = {};
  // Certificates as `capstan certs` makes them; plain connections if empty.
  std::string tls_directory = {};
  // How often to see whether they have been replaced.
  Duration tls_reload = std::chrono::seconds(10);
  // A file that holds the job's token, which this task then shows to the others
  // and asks of them (launch/security/job_token.h); none if empty. Needs TLS.
  std::string token_file = {};
  // Listen beyond this machine without TLS.
  bool insecure_network = false;
  LogLevel log_level = LogLevel::kInfo;
  // I/O threads of a parameter server; 0: one for each core. Other tasks have
  // one.
  int threads = 0;
  // How many functions a worker runs at once.
  int concurrency = 1;
  // How many threads each should compute with; 0: its share of the cores.
  int compute_threads = 0;
  // What the variables of a parameter server may take. 0: four fifths of the
  // memory that the machine, or the container, has to spare at the start.
  uint64_t memory_bytes = 0;
  // Where a parameter server writes and reads checkpoints; made if it is
  // missing. None if empty: the coordinator does it for it.
  std::string checkpoint_root = {};
  // A file that the coordinator makes when it begins to tell the tasks that the
  // job is over: whoever has started it then knows that starting it again is of
  // no use. None if empty.
  std::string over_file = {};
  // How long the coordinator waits for all tasks, and a task for it, at the
  // start; and how long a task waits for a coordinator that is gone.
  Duration start_timeout = std::chrono::seconds(120);
  Duration return_timeout = std::chrono::seconds(60);
};

// The options that the environment sets: CAPSTAN_LISTEN, CAPSTAN_TLS,
// CAPSTAN_TOKEN, CAPSTAN_INSECURE_NETWORK (1 or 0), CAPSTAN_LOG_LEVEL,
// CAPSTAN_THREADS, CAPSTAN_CONCURRENCY, CAPSTAN_COMPUTE_THREADS, CAPSTAN_MEMORY
// in megabytes (of 1,000,000 bytes), CAPSTAN_CHECKPOINT_DIR (a server's
// checkpoint_root), CAPSTAN_OVER_FILE, and CAPSTAN_START_TIMEOUT,
// CAPSTAN_RETURN_TIMEOUT and CAPSTAN_TLS_RELOAD in seconds. InvalidArgument,
// naming the variable, for a value that is none.
inline constexpr uint64_t kMegabyte = 1'000'000;
absl::StatusOr<TaskOptions> ReadTaskOptions(const Environment& environment,
                                            ResolvedCluster cluster);

}  // namespace capstan

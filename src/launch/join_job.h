// Adds a new worker to a running job: what `capstan worker --join` does.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/async/clock.h"
#include "launch/local/held_ports.h"
#include "launch/local/local_job.h"

namespace capstan {

struct JoinJobOptions {
  // The address of the job's chief.
  std::string chief = {};
  // The id of the job to join; "" for a job without an id.
  std::string job_id = {};
  // Where the worker listens and the chief calls it. If empty, and the chief is
  // on this machine: a socket beside the chief's, or a free port of 127.0.0.1.
  std::string listen = {};
  // The certificate folder, which must hold that of "worker", and the job's
  // token file; "" for none.
  std::string tls = {};
  std::string token = {};
  // Listen beyond this machine without TLS.
  bool insecure_network = false;
  // What the worker runs: a path, the arguments starting with the program's
  // name, and the inherited environment, as "NAME=value".
  std::string program = {};
  std::vector<std::string> arguments = {};
  std::vector<std::string> environment = {};
  // The kernels for the worker's OpenBLAS; "" to let it choose.
  std::string blas_core = {};
  // How long the chief may take to answer.
  Duration timeout = std::chrono::seconds(5);
};

struct JoinedWorker {
  std::string address = {};
  std::string job = {};
  // Start this soon: until it answers, the chief shows it as missing.
  LocalTask task = {};
  // Holds the port of the address, if JoinJob chose one.
  std::optional<HeldPorts> port = std::nullopt;
};

// Asks the chief. The job's errors are those of Roster::Join (AlreadyExists,
// ResourceExhausted and others); local errors are those of CheckListen and
// AdminClient::Create. Unavailable if there is no chief, FailedPrecondition if
// the chief belongs to another job. All messages say what to do.
absl::StatusOr<JoinedWorker> JoinJob(const JoinJobOptions& options);

}  // namespace capstan

// Takes a new worker into a job that runs: what `capstan worker --join` does.
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
  // Of the job that is meant; "" for one without an id.
  std::string job_id = {};
  // Where the chief is to call the worker, which listens there. If empty, for a
  // chief on this machine: a socket beside that of the chief, or a free port of
  // 127.0.0.1.
  std::string listen = {};
  // The folder of the certificates, with that of "worker", and the file of the
  // job's token; "" for none.
  std::string tls = {};
  std::string token = {};
  // Listen beyond this machine without TLS.
  bool insecure_network = false;
  // What the worker runs: a path, the arguments with the program's name first,
  // and what it inherits, as "NAME=value".
  std::string program = {};
  std::vector<std::string> arguments = {};
  std::vector<std::string> environment = {};
  // The kernels that OpenBLAS is to take there; "" to let it choose.
  std::string blas_core = {};
  // How long the chief may take to answer.
  Duration timeout = std::chrono::seconds(5);
};

struct JoinedWorker {
  std::string address = {};
  std::string job = {};
  // What to start, soon: until it answers there, the chief shows it as missing.
  LocalTask task = {};
  // Holds the port of the address, if that was chosen here.
  std::optional<HeldPorts> port = std::nullopt;
};

// Asks the chief. What the job answers: AlreadyExists, ResourceExhausted, ...,
// see Roster::Join; what is wrong on this side: the errors of CheckListen and
// AdminClient::Create; Unavailable if there is no chief, FailedPrecondition if
// it is that of another job. All say what to do.
absl::StatusOr<JoinedWorker> JoinJob(const JoinJobOptions& options);

}  // namespace capstan

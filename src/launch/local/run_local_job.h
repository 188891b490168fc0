// Runs a whole job as processes on this machine: what `capstan run` does.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "launch/local/local_job.h"
#include "launch/local/supervisor.h"

namespace capstan {

struct RunLocalJobOptions {
  // `program` is a path or a name, which is looked for in `search_path` (as in
  // PATH). The job id is ignored: each run has a new one.
  LocalJobOptions job = {};
  std::string search_path = {};
  SupervisorOptions supervisor = {};
  // Whether the tasks talk over TCP on 127.0.0.1, which every user of the
  // machine can reach, and not over Unix sockets.
  bool tcp = false;
  // Where the folder of the sockets is made, see SocketFolder.
  std::string socket_parent = {};
  // The folder in which runs/ is.
  std::string folder = ".";
  // Descriptors: of the tasks' lines, and of what there is to say.
  int output = 1;
  int messages = 2;
};

// Runs the job to its end, see Supervisor, and returns the exit code. Writes
// what the tasks write to the screen and, whole, to runs/<id>/logs. A program
// that cannot be run is reported in one line, with the code 126 or 127. Fails,
// without having started anything, if there are no ports or no folder for the
// sockets or the logs. While it runs, it takes the signals SIGINT, SIGTERM,
// SIGHUP (unless that was ignored), SIGCHLD, SIGPIPE and SIGXFSZ (a log that is
// too large is an error like others) of the process, and reaps all its
// children; so one at a time, and in the main thread.
absl::StatusOr<int> RunLocalJob(RunLocalJobOptions options);

}  // namespace capstan

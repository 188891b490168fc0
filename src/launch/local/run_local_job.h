// Runs a whole job as processes on this machine: what `capstan run` does.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "launch/local/local_job.h"
#include "launch/local/supervisor.h"

namespace capstan {

struct RunLocalJobOptions {
  // `program` is a path, or a name to find in `search_path` (as in PATH). The
  // job id is ignored: each run gets a new one.
  LocalJobOptions job = {};
  std::string search_path = {};
  SupervisorOptions supervisor = {};
  // Whether the tasks talk over TCP on 127.0.0.1, which every user of the
  // machine can reach, instead of over Unix sockets.
  bool tcp = false;
  // Where to create the socket folder, see SocketFolder.
  std::string socket_parent = {};
  // The folder that contains runs/.
  std::string folder = ".";
  // Descriptors: for the tasks' lines, and for this program's own messages.
  int output = 1;
  int messages = 2;
};

// Runs the job to its end (see Supervisor) and returns the exit code. The
// tasks' output goes to the screen and, in full, to runs/<id>/logs. A program
// that cannot be run is reported in one line, with exit code 126 or 127. Fails,
// without having started anything, if there are no ports or no folder for the
// sockets or the logs. Meanwhile it handles the process's SIGINT, SIGTERM,
// SIGHUP (unless that was ignored), SIGCHLD, SIGPIPE and SIGXFSZ (a log that is
// too large is an error like any other), and reaps all children of the process;
// so run only one at a time, and in the main thread.
absl::StatusOr<int> RunLocalJob(RunLocalJobOptions options);

}  // namespace capstan

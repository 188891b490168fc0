// How a local job ended, kept in its run folder.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "base/async/clock.h"

namespace capstan {

struct RunResult {
  int exit_code = 0;       // of `capstan run`
  std::string ended = {};  // "2026-11-18 12:40:59 UTC"
  // Why it is not 0: the first failure, or the signal that stopped the job.
  std::string reason = {};
};

// "2026-11-18 12:40:59 UTC". Pure; thread-safe.
std::string EndText(WallTime time);

// The text of the file, and back. InvalidArgument for any other text. Pure
// functions; thread-safe.
std::string FormatRunResult(const RunResult& result);
absl::StatusOr<RunResult> ParseRunResult(const std::string& text);

// The result of the run that wrote this cluster.yaml. NotFound if there is
// none: the run is still going or was killed, or the file does not belong to a
// run.
absl::StatusOr<RunResult> ReadRunResult(const std::string& cluster_file);

}  // namespace capstan

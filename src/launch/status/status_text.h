// What `capstan status` says. Pure functions; thread-safe.
#pragma once

#include <string>

#include "launch/local/run_result.h"
#include "launch/status/ask_status.h"

namespace capstan {

// Of a job that was asked: in the first line whether it runs, and if not, or if
// its chief does not answer, which it is; then a line for each task, the work,
// and what the servers hold, with each shard of each variable if `variables`.
// Safe to print, whoever the reports are from.
std::string StatusText(const std::string& job, const JobStatus& status,
                       bool variables);

// Of one that has ended, in one line; `logs` is where its logs are.
std::string ResultText(const std::string& job, const RunResult& result,
                       const std::string& logs);

}  // namespace capstan

// What `capstan status` prints. Pure functions; thread-safe.
#pragma once

#include <string>

#include "launch/local/run_result.h"
#include "launch/status/ask_status.h"

namespace capstan {

// For a job that was asked. The first line says whether it is running, and if
// not, or if its chief does not answer, which of these it is. Then come a line
// per task, the work, and what the servers hold, with each shard of each
// variable if `variables`. Safe to print, whoever sent the reports.
std::string StatusText(const std::string& job, const JobStatus& status,
                       bool variables);

// For a job that has ended, one line; `logs` is where its logs are.
std::string ResultText(const std::string& job, const RunResult& result,
                       const std::string& logs);

}  // namespace capstan

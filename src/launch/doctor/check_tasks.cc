#include "launch/doctor/check_tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>

namespace capstan {
namespace {

Finding Answered(const TaskProbe& probe) {
  const double microseconds =
      std::chrono::duration<double, std::micro>(probe.round_trip).count();
  std::string what = fmt::format(
      "{} at {}: answers, version {}; {} bytes there and back in {:.0f} us",
      probe.task.ToString(), probe.address, probe.report.version,
      TaskProbe::kBytes, microseconds);
  if (!probe.report.insecure) return {FindingLevel::kOk, what, ""};
  return {FindingLevel::kWarning,
          what +
              "; it runs with --insecure-network: whoever can reach it can "
              "read and change the job",
          "start it with --tls"};
}

// The message of a refusal says what to do, unless it comes from TLS.
std::string RemedyOf(const absl::Status& refusal) {
  return absl::IsUnauthenticated(refusal)
             ? "give both sides certificates of the same CA (--tls) and the "
               "same token, if there is one (--token)"
             : "";
}

Finding NotThere(const TaskProbe& probe, bool job_runs, Duration timeout) {
  const std::string what = fmt::format("{}: {}", probe.task.ToString(),
                                       std::string(probe.connected.message()));
  if (probe.tried >= timeout) {
    return {FindingLevel::kProblem, what,
            "is that machine up, is the address right, does a firewall drop "
            "what goes to the port?"};
  }
  if (job_runs) {
    return {FindingLevel::kProblem, what,
            "the job runs without this task: look at its log, and start it"};
  }
  return {FindingLevel::kWarning, what,
          "no task of the job answers: start it, if it should run"};
}

Finding DescribeProbe(const TaskProbe& probe, bool job_runs, Duration timeout) {
  if (probe.status.ok()) return Answered(probe);
  const std::string message(probe.status.message());
  if (probe.refused()) {
    return {FindingLevel::kProblem, message, RemedyOf(probe.status)};
  }
  if (!probe.connected.ok()) return NotThere(probe, job_runs, timeout);
  return {FindingLevel::kProblem,
          message +
              "; something listens there, but does not answer as a task "
              "of this job",
          "is it another program, is it stopped, does one side use TLS and "
          "the other not (--tls)?"};
}

}  // namespace

Findings CheckTasks(const std::vector<TaskProbe>& probes, Duration timeout) {
  const bool job_runs =
      std::any_of(probes.begin(), probes.end(),
                  [](const TaskProbe& probe) { return probe.status.ok(); });
  Findings findings;
  for (const TaskProbe& probe : probes) {
    findings.push_back(DescribeProbe(probe, job_runs, timeout));
  }
  return findings;
}

}  // namespace capstan

#include "launch/status/status_text.h"

#include <fmt/format.h>

#include <vector>

#include "base/refusal.h"
#include "launch/make_cluster.h"
#include "launch/status/dispatch_table.h"
#include "launch/status/store_table.h"
#include "launch/system/printable.h"

namespace capstan {
namespace {

std::string Name(const std::string& job, const JobStatus& status) {
  return status.term == 0 ? "job " + job
                          : fmt::format("job {}, term {}", job, status.term);
}

// For a chief that has not answered.
std::string Silence(const JobStatus& status) {
  for (const TaskEntry& entry : status.tasks) {
    if (entry.task != "chief/0" || entry.since_ms == 0) continue;
    return fmt::format("; the other tasks last heard it {:.1f} s ago",
                       static_cast<double>(entry.since_ms) / 1e3);
  }
  return "";
}

std::string WithoutChief(const std::string& job, const JobStatus& status) {
  if (status.nobody_listens) {
    const size_t count = status.tasks.size();
    return fmt::format(
        "job {} is not running: nobody listens at any of its {} addresses; it "
        "has ended, or was not started\n",
        job, count);
  }
  if (status.CountThere() == 0) {
    return fmt::format("job {}: no task answers\n", job);
  }
  const std::string_view what =
      IsRefusal(status.chief)
          ? "is not running"
          : (absl::IsDeadlineExceeded(status.chief) ? "does not answer"
                                                    : "cannot be asked");
  return fmt::format("{}: chief/0 {}{}\n", Name(job, status), what,
                     Silence(status));
}

}  // namespace

std::string StatusText(const std::string& job, const JobStatus& status,
                       bool variables) {
  std::string text =
      status.chief.ok() ? Name(job, status) + "\n" : WithoutChief(job, status);
  if (status.nobody_listens) return text;
  std::vector<TaskInfo> tasks;
  for (const TaskEntry& entry : status.tasks) {
    const absl::StatusOr<TaskInfo> info = ToTaskInfo(entry);
    if (info.ok()) tasks.push_back(*info);
  }
  text += ToTable(tasks);
  for (const TaskInfo& task : tasks) {
    if (!task.error.empty()) text += task.error + "\n";
  }
  for (const std::string& table :
       {DispatchTable(status.dispatch), StoresTable(status.stores),
        variables ? VariablesTable(status.stores) : ""}) {
    if (!table.empty()) text += "\n" + table;
  }
  return text;
}

std::string ResultText(const std::string& job, const RunResult& result,
                       const std::string& logs) {
  const std::string reason =
      result.reason.empty() ? "" : fmt::format(" ({})", result.reason);
  return fmt::format("job {} {} at {} with exit code {}{}; logs in {}\n", job,
                     result.exit_code == 0 ? "finished" : "ended", result.ended,
                     result.exit_code, reason, logs);
}

}  // namespace capstan

#include "membership/task_record.h"

#include <utility>

#include "base/status.h"

namespace capstan {

TaskRecord::TaskRecord(TaskId task, std::string address, bool joined,
                       MonotonicTime now)
    : task_(task), joined_(joined), since_(now), last_sign_(now) {
  entry_.task = task.ToString();
  entry_.address = std::move(address);
}

bool TaskRecord::answers() const {
  return entry_.state == TaskState::kHealthy ||
         entry_.state == TaskState::kRestarted;
}

bool TaskRecord::needed() const {
  return !joined_ && (task_.role == Role::kWorker || task_.role == Role::kPs);
}

bool TaskRecord::HasLeft(MonotonicTime now, Duration patience) const {
  return joined_ && !answers() && now - last_sign_ > patience;
}

bool TaskRecord::OnReport(TaskReport report, MonotonicTime now,
                          const Logger& logger) {
  error_ = absl::OkStatus();
  last_sign_ = now;
  const uint64_t before = entry_.report.incarnation;
  const bool first = before == 0;
  const bool restarted = !first && before != report.incarnation;
  if (restarted) ++entry_.restarts;
  const TaskState state =
      entry_.restarts > 0 ? TaskState::kRestarted : TaskState::kHealthy;
  if (first) {
    logger.Info("{} at {} is here", entry_.task, entry_.address);
  } else if (restarted) {
    logger.Warning("{} at {} has been restarted", entry_.task, entry_.address);
  } else if (!answers()) {
    logger.Info("{} at {} is back", entry_.task, entry_.address);
  }
  const bool is_change = restarted || entry_.state != state;
  if (is_change) SetState(state, now);
  entry_.report = std::move(report);
  entry_.error.clear();
  return is_change;
}

bool TaskRecord::OnError(const absl::Status& error, MonotonicTime now,
                         const Logger& logger) {
  error_ = error;
  entry_.error = std::string(error.message());
  // One that was there is lost; one that never was may be turned away.
  if (!answers()) return false;
  logger.Warning("{} is unreachable: {}", entry_.task, Describe(error));
  SetState(TaskState::kUnreachable, now);
  return true;
}

void TaskRecord::SetState(TaskState state, MonotonicTime now) {
  entry_.state = state;
  since_ = now;
}

TaskEntry TaskRecord::Entry(MonotonicTime now) const {
  TaskEntry entry = entry_;
  entry.since_ms = static_cast<uint64_t>(
      std::chrono::floor<std::chrono::milliseconds>(now - since_).count());
  return entry;
}

}  // namespace capstan

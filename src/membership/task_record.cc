#include "membership/task_record.h"

#include <utility>

#include "base/refusal.h"
#include "base/status.h"

namespace capstan {

bool IsPermanent(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) ||
         absl::IsPermissionDenied(status) || absl::IsInvalidArgument(status) ||
         absl::IsUnauthenticated(status) || absl::IsUnimplemented(status);
}

TaskRecord::TaskRecord(TaskId task, std::string address, bool joined,
                       Duration longest_beat, MonotonicTime now)
    : task_(task), joined_(joined), since_(now), silence_(longest_beat, now) {
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

bool TaskRecord::HasLeft(Duration patience) const {
  return joined_ && !answers() && silence_.elapsed() > patience;
}

bool TaskRecord::OnReport(TaskReport report, MonotonicTime now,
                          const Logger& logger) {
  error_ = absl::OkStatus();
  const Duration silent = silence_.Look(now);
  silence_.Restart(now);
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
    logger.Info("{} ({}) answers again after {:.1f} s", entry_.task,
                entry_.address, std::chrono::duration<double>(silent).count());
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
  silence_.Look(now);
  const bool gone = IsRefusal(error) || IsPermanent(error);
  // A task that never answered may have been refused, and one that is
  // unreachable stays so even if its machine fails later.
  if (!answers() && entry_.state != TaskState::kSilent) return false;
  if (gone) {
    logger.Warning("{} is unreachable: {}", entry_.task, Describe(error));
    SetState(TaskState::kUnreachable, now);
  } else if (answers()) {
    // The message names the task.
    logger.Warning("{}", entry_.error);
    SetState(TaskState::kSilent, now);
  }
  return true;
}

void TaskRecord::SetState(TaskState state, MonotonicTime now) {
  entry_.state = state;
  since_ = now;
}

TaskEntry TaskRecord::Entry(MonotonicTime now) const {
  TaskEntry entry = entry_;
  const Duration since =
      entry.state == TaskState::kSilent ? silence_.elapsed() : now - since_;
  entry.since_ms = static_cast<uint64_t>(
      std::chrono::floor<std::chrono::milliseconds>(since).count());
  return entry;
}

}  // namespace capstan

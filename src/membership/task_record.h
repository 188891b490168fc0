// What the coordinator knows about one task, updated with every call.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "base/async/awake_time.h"
#include "base/async/clock.h"
#include "base/log.h"
#include "capstan/cluster_spec.h"
#include "wire/membership.h"

namespace capstan {

// Whether an error means that the wrong task answers or that the task refuses
// to talk, so that calling again would not help.
bool IsPermanent(const absl::Status& status);

// Not thread-safe.
class TaskRecord {
 public:
  // A task that has not been seen yet. `joined`: it was not in the job from the
  // start, and may leave. The task is called at least every `longest_beat`.
  TaskRecord(TaskId task, std::string address, bool joined,
             Duration longest_beat, MonotonicTime now);

  // Call when the task answers. Returns whether its state or its process has
  // changed.
  bool OnReport(TaskReport report, MonotonicTime now, const Logger& logger);
  // Call when the task does not answer, or refuses. Returns whether its state
  // has changed, or it is still silent.
  bool OnError(const absl::Status& error, MonotonicTime now,
               const Logger& logger);
  // Call when a process joins as this task.
  void OnJoin(MonotonicTime now) { silence_.Restart(now); }

  TaskId task() const { return task_; }
  const std::string& address() const { return entry_.address; }
  // Whether the last call was answered.
  bool answers() const;
  // Whether the start of the job waits for this task: evaluators take no part
  // in the training, and tasks that join may come at any time.
  bool needed() const;
  // Whether the task had joined and has been silent for longer than `patience`.
  bool HasLeft(Duration patience) const;
  // The latest report.
  const TaskReport& report() const { return entry_.report; }
  // The error of the last call; OK if it was answered.
  const absl::Status& error() const { return error_; }
  TaskEntry Entry(MonotonicTime now) const;

 private:
  void SetState(TaskState state, MonotonicTime now);

  TaskId task_;
  bool joined_;
  absl::Status error_;
  TaskEntry entry_;  // except since_ms
  MonotonicTime since_;
  AwakeTime silence_;  // since the task answered or joined
};

}  // namespace capstan

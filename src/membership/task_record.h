// What the coordinator knows of one task, and how what it hears of the task
// changes that.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "base/async/awake_time.h"
#include "base/async/clock.h"
#include "base/log.h"
#include "capstan/cluster_spec.h"
#include "wire/membership.h"

namespace capstan {

// Whether an error says that somebody answers who is not the task, or will not
// talk: calling again would not help.
bool IsPermanent(const absl::Status& status);

// Not thread-safe.
class TaskRecord {
 public:
  // A task that has not been seen yet. `joined`: it was not in the job from the
  // start, and may leave. It is called at least every `longest_beat`.
  TaskRecord(TaskId task, std::string address, bool joined,
             Duration longest_beat, MonotonicTime now);

  // It answers. Returns whether its state, or its process, is another now.
  bool OnReport(TaskReport report, MonotonicTime now, const Logger& logger);
  // It does not answer, or refuses. Returns whether its state is another now,
  // or it is still silent.
  bool OnError(const absl::Status& error, MonotonicTime now,
               const Logger& logger);
  // A process says that it will be this task.
  void OnJoin(MonotonicTime now) { silence_.Restart(now); }

  TaskId task() const { return task_; }
  const std::string& address() const { return entry_.address; }
  // Whether it answers now.
  bool answers() const;
  // Whether the start of the job waits for it: evaluators stand beside the
  // training, and who joins comes when it comes.
  bool needed() const;
  // Whether it has joined, and has given no sign for longer than `patience`.
  bool HasLeft(Duration patience) const;
  // The last one that came.
  const TaskReport& report() const { return entry_.report; }
  // Of the last call; OK if it was answered.
  const absl::Status& error() const { return error_; }
  TaskEntry Entry(MonotonicTime now) const;

 private:
  void SetState(TaskState state, MonotonicTime now);

  TaskId task_;
  bool joined_;
  absl::Status error_;
  TaskEntry entry_;  // but for since_ms
  MonotonicTime since_;
  AwakeTime silence_;  // since it answered, or joined
};

}  // namespace capstan

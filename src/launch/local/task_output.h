// Where the output of a task goes: all of it into its log, line by line to the
// screen, and the last lines into memory.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "base/file/file_system.h"
#include "capstan/cluster_spec.h"
#include "launch/local/last_lines.h"
#include "launch/local/screen.h"

namespace capstan {

// Not thread-safe. `screen` must outlive it.
class TaskOutput {
 public:
  // The screen gets at most this much of a line.
  static constexpr size_t kMaxLine = size_t{1} << 16;

  // Without a log if `log` is null.
  TaskOutput(TaskId task, std::unique_ptr<WritableFile> log, Screen& screen)
      : task_(task), log_(std::move(log)), screen_(&screen) {}

  // Takes what the task wrote, cut anywhere. Returns an error once, when the
  // log cannot be written; the log is then abandoned: later calls return OK,
  // and the screen still gets everything.
  absl::Status Take(std::string_view bytes);

  // The process has ended: its last line may lack the line feed. Output of
  // another process of the same task may follow.
  void End();

  const LastLines& last_lines() const { return last_lines_; }

 private:
  void AddToLine(std::string_view part);
  void EndLine();
  void ShowLine();

  const TaskId task_;
  std::unique_ptr<WritableFile> log_;
  Screen* const screen_;
  LastLines last_lines_;
  std::string line_;       // the line so far
  bool skipping_ = false;  // to the end of a line that was too long
};

}  // namespace capstan

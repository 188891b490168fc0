// Which tasks of a job have failed, for the report at its end.
#pragma once

#include <string>
#include <vector>

#include "capstan/cluster_spec.h"

namespace capstan {

// How a task failed.
struct TaskFailure {
  TaskId task = {};
  std::string what = {};  // "worker/0 (pid 12) was killed by SIGKILL"
  std::string log = {};   // the path of its log
  std::vector<std::string> last_lines = {};  // of its output
};

// A part of the report: a headline, and lines that belong to it.
struct FailureText {
  std::string headline = {};
  std::vector<std::string> details = {};
};

// The tasks that have failed and not recovered, in order of failure. The first
// failure probably caused the others; the chief's report tells best what it
// meant for the program. Not thread-safe.
class FailureList {
 public:
  // A task that is already on the list keeps its place: it failed again before
  // it recovered.
  void Add(TaskFailure failure);

  // The task has recovered.
  void Remove(TaskId task);

  // Describes the first failure; "" if no task is on the list.
  std::string first() const;

  // "first failure: worker/0 ..." with the end of its log, a headline for each
  // of the next few failures, and finally the chief with the end of its log. No
  // details for a task that wrote nothing or only empty lines. Empty if no task
  // is on the list.
  std::vector<FailureText> Report() const;

 private:
  std::vector<TaskFailure> failures_;
};

}  // namespace capstan

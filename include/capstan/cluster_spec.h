// Who is in the job: the tasks of a cluster and the address of each.
//
//   ClusterSpec spec({{Role::kChief, {"10.0.0.1:7077"}},
//                     {Role::kWorker, {"10.0.0.2:7077", "10.0.0.3:7077"}},
//                     {Role::kPs, {"10.0.0.4:7077"}}});
//   spec.task_address({Role::kWorker, 1});  // "10.0.0.3:7077"
//
// resolver.h reads such a description from TF_CONFIG, a file, Slurm or
// Kubernetes. Misuse throws capstan::Error (error.h); what cannot throw is
// noexcept.
// Thread-safety: as the standard containers.
#pragma once

#include <compare>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "capstan/export.h"

namespace capstan {

// What a task does. The names are TensorFlow's ("chief", "worker", "ps",
// "evaluator") and are fixed.
enum class Role {
  kChief,      // The coordinator; exactly one. It runs the program's body.
  kWorker,     // Computes gradients; one or more.
  kPs,         // A parameter server: holds variables; one or more.
  kEvaluator,  // Evaluates checkpoints during training; at most one.
};

// The name of the role, such as "ps"; "invalid" for a number that is not a
// Role. Cannot fail; the text is valid forever.
CAPSTAN_EXPORT std::string_view RoleName(Role role) noexcept;

// One task: "worker/3" is the worker with index 3. A value; ordered by role,
// then index.
struct CAPSTAN_EXPORT TaskId {
  // The largest index that a cluster may use.
  static constexpr int kMaxIndex = 999'999;

  Role role = Role::kChief;
  int index = 0;  // from 0 to kMaxIndex

  // Parses a text such as "worker/3". Throws kInvalidArgument for any other
  // text, saying what is wrong with it.
  static TaskId Parse(std::string_view text);

  // "worker/3".
  std::string ToString() const;

  friend auto operator<=>(const TaskId&, const TaskId&) noexcept = default;
};

// The tasks of a cluster and their addresses, by role and index. A value.
//
// An address is "host:port", "[IPv6]:port", "unix:/path" or, between tasks that
// share a process, "inproc:name"; a port is from 1 to 65535. Every address in a
// ClusterSpec has one of these forms. A ClusterSpec may describe only part of a
// cluster; Validate checks that it is a complete one.
//
// A job (the tasks of one role) is dense if its indices are 0, 1, ..., n-1,
// otherwise sparse: a task need not know all the others.
class CAPSTAN_EXPORT ClusterSpec {
 public:
  using Tasks = std::map<int, std::string>;  // index -> address
  using Jobs = std::map<Role, Tasks>;

  // No tasks.
  ClusterSpec() noexcept = default;

  // Dense jobs: the addresses of each, in the order of their indices. Throws
  // kInvalidArgument, naming the task, for an address in none of these forms.
  explicit ClusterSpec(
      const std::map<Role, std::vector<std::string>>& addresses);

  // Dense or sparse jobs; one without tasks is left out. Throws
  // kInvalidArgument for a bad address, or an index that is negative or above
  // TaskId::kMaxIndex.
  static ClusterSpec FromDict(Jobs jobs);

  // The same from JSON, as in the "cluster" of a TF_CONFIG: an object of lists,
  // {"worker": ["a:1", "b:1"]}, or of objects for sparse jobs, {"worker": {"3":
  // "c:1"}}. Throws kInvalidArgument, naming the place and the text found
  // there; also for a job name that is not a role.
  static ClusterSpec FromJson(std::string_view json);

  // The inverse of FromJson, on one line: dense jobs as lists, sparse ones as
  // objects.
  std::string ToJson() const;

  // All tasks. A view that lives as long as this object; jobs without tasks
  // are absent.
  const Jobs& as_dict() const noexcept { return jobs_; }

  bool empty() const noexcept { return jobs_.empty(); }

  // The number of tasks, of one role or in total; the indices of a role, in
  // ascending order; all tasks, in the order of TaskId.
  int num_tasks(Role role) const noexcept;
  int num_tasks() const noexcept;
  std::vector<int> task_indices(Role role) const;
  std::vector<TaskId> tasks() const;

  // Whether the indices of a role are 0 .. num_tasks(role) - 1.
  bool is_dense(Role role) const noexcept;

  // Whether the task exists, and its address: a reference that is valid as long
  // as this object lives. task_address throws kNotFound, listing the indices
  // that exist, if there is no such task.
  bool contains(TaskId task) const noexcept;
  const std::string& task_address(TaskId task) const;

  // Throws kInvalidArgument, naming what is wrong and what to do, unless this
  // is a complete cluster: exactly one chief, with index 0; at least one
  // worker; at least one ps; at most one evaluator, with index 0; no duplicate
  // addresses.
  void Validate() const;

  // "1 chief, 2 workers, 1 ps"; "no tasks" if empty.
  std::string ToString() const;

  // One line per task, each ending in a newline: "worker/1
  // 10.0.0.3:7077\n".
  std::string ToTable() const;

  // The same tasks at the same addresses.
  friend bool operator==(const ClusterSpec&,
                         const ClusterSpec&) noexcept = default;

 private:
  Jobs jobs_;
};

}  // namespace capstan

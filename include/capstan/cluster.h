// The job as its coordinator sees it: the tasks and their state.
//
//   for (const TaskInfo& info : cluster.Tasks()) {
//     std::cout << info.task.ToString() << " is " << StateName(info.state);
//   }
//
// program.h hands a Cluster to the body of a program.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "capstan/cluster_spec.h"
#include "capstan/export.h"

namespace capstan {

enum class MemberState {
  kMissing,      // Not seen yet.
  kHealthy,      // Answers, and is the process that first did.
  kUnreachable,  // Answered before; now nothing listens at its address.
  kRestarted,    // Answers, but is not the process that first did.
  kSilent,       // Answered before, but not now; it may only be paused.
};

// "missing", "healthy", "unreachable", "restarted", "silent"; "invalid" for any
// other number. Cannot fail.
CAPSTAN_EXPORT std::string_view StateName(MemberState state) noexcept;

// What is known about one task.
struct CAPSTAN_EXPORT TaskInfo {
  TaskId task = {};
  std::string address = {};
  MemberState state = MemberState::kMissing;
  std::chrono::milliseconds since = {};  // How long it has been in this state.
  int restarts = 0;
  std::uint64_t incarnation = 0;  // Tells a process from the one before it.
  std::int64_t pid = 0;
  std::chrono::milliseconds uptime = {};
  std::uint64_t memory_bytes = 0;
  bool insecure = false;   // Other machines reach it without TLS.
  std::string error = {};  // Why it is missing, unreachable or silent.
};

// The coordinator's handle to the cluster. Thread-safe.
class CAPSTAN_EXPORT Cluster {
 public:
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  const ClusterSpec& spec() const noexcept;

  // Every task, the coordinator first. Throws kAborted if another coordinator
  // has taken over.
  std::vector<TaskInfo> Tasks() const;

  // The term of this coordinator: how many coordinators this job has had.
  std::uint64_t term() const;

 private:
  friend struct ClusterMaker;
  struct Impl;
  explicit Cluster(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

// Tasks as lines of a table with a heading. Fails only if memory runs out.
CAPSTAN_EXPORT std::string ToTable(const std::vector<TaskInfo>& tasks);

}  // namespace capstan

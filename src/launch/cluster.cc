#include "capstan/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "capstan/coordinator.h"
#include "cluster/task_id.h"
#include "launch/make_cluster.h"
#include "launch/system/printable.h"

namespace capstan {
namespace {

MemberState ToMemberState(TaskState state) {
  switch (state) {
    case TaskState::kMissing:
      return MemberState::kMissing;
    case TaskState::kHealthy:
      return MemberState::kHealthy;
    case TaskState::kUnreachable:
      return MemberState::kUnreachable;
    case TaskState::kRestarted:
      return MemberState::kRestarted;
    case TaskState::kSilent:
      return MemberState::kSilent;
  }
  return MemberState::kMissing;
}

std::chrono::milliseconds Milliseconds(uint64_t count) {
  return std::chrono::milliseconds(static_cast<int64_t>(count));
}

// "3.2 s", "12 min", "5 h": precise enough for people.
std::string Age(std::chrono::milliseconds age) {
  const double seconds = std::chrono::duration<double>(age).count();
  if (seconds < 100) return fmt::format("{:.1f} s", seconds);
  if (seconds < 6'000) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.0f} h", seconds / 3'600);
}

std::string Memory(uint64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

std::string State(const TaskInfo& info) {
  std::string text(StateName(info.state));
  // `capstan status` does not always know the duration.
  if (info.state != MemberState::kHealthy && info.since.count() > 0) {
    text += " for " + Age(info.since);
  }
  if (info.restarts > 0) text += fmt::format(", {}x", info.restarts);
  return text;
}

}  // namespace

struct Cluster::Impl {
  CoordinatorTask& task;
};

Cluster::Cluster(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Cluster::~Cluster() = default;

const ClusterSpec& Cluster::spec() const noexcept {
  return impl_->task.host().options().cluster.spec;
}

std::vector<TaskInfo> Cluster::Tasks() const {
  ThrowIfError(impl_->task.deposed());
  std::vector<TaskInfo> tasks;
  for (const TaskEntry& entry : impl_->task.Report().tasks) {
    tasks.push_back(ValueOrThrow(ToTaskInfo(entry)));
  }
  return tasks;
}

uint64_t Cluster::term() const {
  return impl_->task.Report().coordinator_term.term;
}

std::string_view StateName(MemberState state) noexcept {
  switch (state) {
    case MemberState::kMissing:
      return "missing";
    case MemberState::kHealthy:
      return "healthy";
    case MemberState::kUnreachable:
      return "unreachable";
    case MemberState::kRestarted:
      return "restarted";
    case MemberState::kSilent:
      return "silent";
  }
  return "invalid";
}

std::string ToTable(const std::vector<TaskInfo>& tasks) {
  size_t width = 22;  // of the addresses
  for (const TaskInfo& info : tasks) {
    width = std::max(width, info.address.size());
  }
  std::string table = fmt::format(
      "{:<12} {:<{}} {:<28} {:>8} {:>10} {:>9}  {}\n", "TASK", "ADDRESS", width,
      "STATE", "PID", "MEMORY", "UPTIME", "INCARNATION");
  for (const TaskInfo& info : tasks) {
    const std::string task = info.task.ToString();
    if (info.incarnation == 0) {
      table += fmt::format("{:<12} {:<{}} {:<28}\n", task, info.address, width,
                           State(info));
    } else {
      table += fmt::format(
          "{:<12} {:<{}} {:<28} {:>8} {:>10} {:>9}  {:016x}{}\n", task,
          info.address, width, State(info), info.pid, Memory(info.memory_bytes),
          Age(info.uptime), info.incarnation,
          info.insecure ? "  INSECURE NETWORK" : "");
    }
  }
  return table;
}

std::unique_ptr<Cluster> ClusterMaker::Make(CoordinatorTask& task) {
  return std::unique_ptr<Cluster>(
      new Cluster(std::make_unique<Cluster::Impl>(Cluster::Impl{task})));
}

CoordinatorTask& ClusterMaker::TaskOf(Cluster& cluster) {
  return cluster.impl_->task;
}

ClusterCoordinator::ClusterCoordinator(Cluster& cluster,
                                       const CoordinatorOptions& options)
    : impl_(
          ValueOrThrow(ClusterMaker::TaskOf(cluster).OpenDispatcher(options))) {
}

absl::StatusOr<TaskInfo> ToTaskInfo(const TaskEntry& entry) {
  absl::StatusOr<TaskId> task = ParseTaskId(entry.task);
  if (!task.ok()) return task.status();
  TaskInfo info;
  info.task = *task;
  info.address = Printable(entry.address);
  info.state = ToMemberState(entry.state);
  info.since = Milliseconds(entry.since_ms);
  info.restarts = static_cast<int>(entry.restarts);
  info.incarnation = entry.report.incarnation;
  info.pid = entry.report.pid;
  info.uptime = Milliseconds(entry.report.uptime_ms);
  info.memory_bytes = entry.report.resident_bytes;
  info.insecure = entry.report.insecure;
  // Comes from a peer and goes to a terminal.
  info.error = Printable(entry.error);
  return info;
}

}  // namespace capstan

#include "coordinator/server_registry.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/async/clock.h"
#include "base/status.h"

namespace capstan {

ServerRegistry::ServerRegistry(std::function<bool(uint32_t)> serves,
                               Duration timeout)
    : serves_(std::move(serves)), timeout_(timeout) {}

bool ServerRegistry::OnTask(const TaskEntry& entry, bool any) {
  const std::string number = entry.task.substr(entry.task.find('/') + 1);
  uint32_t index = 0;
  if (!absl::SimpleAtoi(number, &index)) return false;
  Server& server = servers_[entry.task];
  server.index = index;
  const uint64_t incarnation = entry.report.incarnation;
  const bool answers = entry.state == TaskState::kHealthy ||
                       entry.state == TaskState::kRestarted;
  const bool other = !answers || incarnation != server.now;
  server.now = incarnation;
  server.answers = answers;
  server.address = entry.address;
  server.silent = entry.state == TaskState::kSilent;
  server.silence = server.silent ? std::chrono::milliseconds(entry.since_ms)
                                 : Duration::zero();
  if (!server.silent) server.next_reminder = Duration::zero();
  if (!any || server.incarnation == 0) server.incarnation = incarnation;
  // A server that was restarted, or lost before, stays so.
  if (server.silent && server.silence < timeout_) return other;
  if (!answers) {
    const std::string how_long =
        server.silent ? absl::StrCat(" after ", RoundedSeconds(server.silence),
                                     " s without an answer")
                      : "";
    server.lost = WithTask(
        absl::UnavailableError(absl::StrCat(
            entry.task, " at ", entry.address, " is lost", how_long,
            ", and with it the variables that it holds",
            entry.error.empty() ? "" : absl::StrCat(": ", entry.error))),
        entry.task);
  } else if (incarnation != server.incarnation) {
    server.lost = WithTask(
        absl::UnavailableError(absl::StrCat(
            entry.task, " at ", entry.address,
            " was restarted and has lost the variables that it held: restore "
            "a checkpoint (ClusterCoordinator::Recover, or Fit with a "
            "checkpoint directory), or start the job again")),
        entry.task);
  } else {
    server.lost = absl::OkStatus();
  }
  return other;
}

void ServerRegistry::HaveVariables(const Processes& processes) {
  for (auto& [task, server] : servers_) {
    const auto found = processes.find(task);
    if (found == processes.end()) continue;
    server.incarnation = found->second;
    if (server.answers && server.incarnation == server.now) {
      server.lost = absl::OkStatus();
    }
  }
}

ServerRegistry::Processes ServerRegistry::Now() const {
  Processes processes;
  for (const auto& [task, server] : servers_) processes[task] = server.now;
  return processes;
}

absl::Status ServerRegistry::Lost() const {
  const std::vector<absl::Status> all = AllLost();
  return all.empty() ? absl::OkStatus() : all.front();
}

std::vector<absl::Status> ServerRegistry::AllLost() const {
  std::vector<absl::Status> all;
  for (const auto& [task, server] : servers_) {
    if (!server.lost.ok() && serves_(server.index)) all.push_back(server.lost);
  }
  return all;
}

std::string ServerRegistry::Describe(const std::string& task,
                                     const Server& server) const {
  const Duration left = std::max<Duration>(timeout_ - server.silence, {});
  return absl::StrCat(task, " (", server.address, ") has not answered for ",
                      RoundedSeconds(server.silence), " s; waiting another ",
                      RoundedSeconds(left), " s for it");
}

std::vector<std::string> ServerRegistry::AllSilent() const {
  std::vector<std::string> all;
  for (const auto& [task, server] : servers_) {
    if (!server.silent || !server.lost.ok() || !serves_(server.index)) continue;
    all.push_back(Describe(task, server));
  }
  return all;
}

std::optional<std::string> ServerRegistry::Reminder(const std::string& task,
                                                    Duration interval) {
  const auto found = servers_.find(task);
  if (found == servers_.end()) return std::nullopt;
  Server& server = found->second;
  if (!server.silent || !server.lost.ok() || !serves_(server.index)) {
    return std::nullopt;
  }
  if (server.silence < server.next_reminder) return std::nullopt;
  server.next_reminder = server.next_reminder == Duration::zero()
                             ? interval
                             : server.next_reminder + interval;
  return Describe(task, server);
}

Duration ServerRegistry::LeastSilence() const {
  std::optional<Duration> least;
  for (const auto& [task, server] : servers_) {
    if (server.answers || !serves_(server.index)) continue;
    least = std::min(least.value_or(server.silence), server.silence);
  }
  return least.value_or(Duration::zero());
}

template <typename Predicate>
std::vector<std::string> ServerRegistry::Those(
    const Predicate& predicate) const {
  std::vector<std::string> tasks;
  for (const auto& [task, server] : servers_) {
    if (predicate(server)) tasks.push_back(task);
  }
  return tasks;
}

std::vector<std::string> ServerRegistry::Awaited() const {
  return Those([this](const Server& server) {
    return serves_(server.index) && !server.answers;
  });
}

std::vector<std::string> ServerRegistry::LeftOut() const {
  return Those([this](const Server& server) { return !serves_(server.index); });
}

std::vector<std::string> ServerRegistry::Returned() const {
  return Those([this](const Server& server) {
    return !serves_(server.index) && server.answers;
  });
}

std::vector<uint32_t> ServerRegistry::Absent() const {
  std::vector<uint32_t> indices;
  for (const auto& [task, server] : servers_) {
    if (!server.answers) indices.push_back(server.index);
  }
  std::sort(indices.begin(), indices.end());
  return indices;
}

bool ServerRegistry::Answers(const std::string& task) const {
  const auto found = servers_.find(task);
  return found != servers_.end() && found->second.answers;
}

bool ServerRegistry::IsAway(const std::string& task) const {
  return servers_.contains(task) && !Answers(task);
}

}  // namespace capstan

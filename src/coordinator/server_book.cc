#include "coordinator/server_book.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace capstan {

ServerBook::ServerBook(std::function<bool(uint32_t)> serves)
    : serves_(std::move(serves)) {}

bool ServerBook::OnTask(const TaskEntry& entry, bool any) {
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
  if (!any || server.incarnation == 0) server.incarnation = incarnation;
  if (!answers) {
    server.lost = WithTask(
        absl::UnavailableError(absl::StrCat(
            entry.task, " at ", entry.address,
            " is lost, and with it the variables that it holds",
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

void ServerBook::HaveVariables(const Processes& processes) {
  for (auto& [task, server] : servers_) {
    const auto found = processes.find(task);
    if (found == processes.end()) continue;
    server.incarnation = found->second;
    if (server.answers && server.incarnation == server.now) {
      server.lost = absl::OkStatus();
    }
  }
}

ServerBook::Processes ServerBook::Now() const {
  Processes processes;
  for (const auto& [task, server] : servers_) processes[task] = server.now;
  return processes;
}

absl::Status ServerBook::Lost() const {
  const std::vector<absl::Status> all = AllLost();
  return all.empty() ? absl::OkStatus() : all.front();
}

std::vector<absl::Status> ServerBook::AllLost() const {
  std::vector<absl::Status> all;
  for (const auto& [task, server] : servers_) {
    if (!server.lost.ok() && serves_(server.index)) all.push_back(server.lost);
  }
  return all;
}

template <typename Predicate>
std::vector<std::string> ServerBook::Those(const Predicate& predicate) const {
  std::vector<std::string> tasks;
  for (const auto& [task, server] : servers_) {
    if (predicate(server)) tasks.push_back(task);
  }
  return tasks;
}

std::vector<std::string> ServerBook::Awaited() const {
  return Those([this](const Server& server) {
    return serves_(server.index) && !server.answers;
  });
}

std::vector<std::string> ServerBook::LeftOut() const {
  return Those([this](const Server& server) { return !serves_(server.index); });
}

std::vector<std::string> ServerBook::Returned() const {
  return Those([this](const Server& server) {
    return !serves_(server.index) && server.answers;
  });
}

std::vector<uint32_t> ServerBook::Absent() const {
  std::vector<uint32_t> indices;
  for (const auto& [task, server] : servers_) {
    if (!server.answers) indices.push_back(server.index);
  }
  std::sort(indices.begin(), indices.end());
  return indices;
}

bool ServerBook::Answers(const std::string& task) const {
  const auto found = servers_.find(task);
  return found != servers_.end() && found->second.answers;
}

}  // namespace capstan

// What the coordinator knows of the parameter servers of its job: who answers,
// who is waited for, who has lost the variables that it held, and whom the job
// goes on without.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/async/clock.h"
#include "wire/membership.h"

namespace capstan {

// Not thread-safe.
class ServerRegistry {
 public:
  // Which process a server was.
  using Processes = std::map<std::string, uint64_t>;

  // `serves` says whether the variables are on a server, or will be. One that
  // is silent may be paused, and still have what it holds: it is lost only
  // after `timeout`.
  ServerRegistry(std::function<bool(uint32_t)> serves, Duration timeout);

  // What the roster knows of one now. `any`: whether there are variables, which
  // a process that comes after it does not have. Returns whether this is
  // another process than before, or none.
  bool OnTask(const TaskEntry& entry, bool any);

  // Variables were made on these processes.
  void HaveVariables(const Processes& processes);
  Processes Now() const;

  // The first of those that serve which is lost, or has lost its variables; OK
  // if none.
  absl::Status Lost() const;
  // All of these that are so, as errors.
  std::vector<absl::Status> AllLost() const;
  // Those that serve, are silent and not lost: "ps/0 (127.0.0.1:7171) has not
  // answered for 5 s; waiting another 55 s for it".
  std::vector<std::string> AllSilent() const;
  // The same of one, when it became silent and then every `interval`; else
  // nothing.
  std::optional<std::string> Reminder(const std::string& task,
                                      Duration interval);
  // How long those that serve and do not answer have been silent, at least.
  Duration LeastSilence() const;
  // Those that serve and do not answer.
  std::vector<std::string> Awaited() const;
  // Those that do not serve, and those of them that answer.
  std::vector<std::string> LeftOut() const;
  std::vector<std::string> Returned() const;
  // The indices of all that do not answer, ascending.
  std::vector<uint32_t> Absent() const;
  bool Answers(const std::string& task) const;
  // Whether it is known, and does not answer.
  bool IsAway(const std::string& task) const;
  size_t size() const { return servers_.size(); }

 private:
  struct Server {
    uint32_t index = 0;
    uint64_t incarnation = 0;  // when its variables were made
    uint64_t now = 0;          // and that of the process that answers now
    bool answers = false;
    bool silent = false;  // and not proven to be gone
    Duration silence = Duration::zero();
    Duration next_reminder = Duration::zero();
    std::string address;
    absl::Status lost;
  };

  std::string Describe(const std::string& task, const Server& server) const;

  template <typename Predicate>
  std::vector<std::string> Those(const Predicate& predicate) const;

  const std::function<bool(uint32_t)> serves_;
  const Duration timeout_;
  std::map<std::string, Server> servers_;
};

}  // namespace capstan

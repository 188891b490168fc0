// What the coordinator knows about the parameter servers of its job: which ones
// answer, which ones it is waiting for, which ones have lost their variables,
// and which ones the job continues without.
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
  // The incarnation of each server, by task.
  using Processes = std::map<std::string, uint64_t>;

  // `serves` returns whether a server holds, or will hold, variables. A silent
  // server may be paused and still have its variables: it is lost only after
  // `timeout`.
  ServerRegistry(std::function<bool(uint32_t)> serves, Duration timeout);

  // The roster's current state of a server. `any`: whether there are variables,
  // which a replacement process would not have. Returns whether the process is
  // not the same as before, or does not answer.
  bool OnTask(const TaskEntry& entry, bool any);

  // Variables were created on these processes.
  void HaveVariables(const Processes& processes);
  Processes Now() const;

  // The first serving server that is lost or has lost its variables; OK if
  // none.
  absl::Status Lost() const;
  // All such servers, as errors.
  std::vector<absl::Status> AllLost() const;
  // Serving servers that are silent and not lost: "ps/0 (127.0.0.1:7171) has
  // not answered for 5 s; waiting another 55 s for it".
  std::vector<std::string> AllSilent() const;
  // The same text for one server, when it becomes silent and then every
  // `interval`; else nothing.
  std::optional<std::string> Reminder(const std::string& task,
                                      Duration interval);
  // The shortest silence of the serving servers that do not answer.
  Duration LeastSilence() const;
  // Serving servers that do not answer.
  std::vector<std::string> Awaited() const;
  // Servers that do not serve, and those of them that answer.
  std::vector<std::string> LeftOut() const;
  std::vector<std::string> Returned() const;
  // The indices of all servers that do not answer, ascending.
  std::vector<uint32_t> Absent() const;
  bool Answers(const std::string& task) const;
  // Whether the server is known and does not answer.
  bool IsAway(const std::string& task) const;
  size_t size() const { return servers_.size(); }

 private:
  struct Server {
    uint32_t index = 0;
    uint64_t incarnation = 0;  // of the process that got its variables
    uint64_t now = 0;          // of the process that answers now
    bool answers = false;
    bool silent = false;  // and not known to be gone
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

// What the connections of one server share.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/async/clock.h"
#include "base/log.h"
#include "transport/byte_budget.h"
#include "transport/complaints.h"
#include "transport/server.h"
#include "wire/service.h"

namespace capstan {

class ServerConnection;

// Thread-safe.
class ServerCore {
 public:
  ServerCore(Clock& clock_in, Logger& logger_in, Service& service_in,
             ServerOptions options_in);

  // Keeps track of who is connected. A small lane that ends takes its bulk
  // lane with it, as only the small one is watched; so when the server leaves,
  // the bulk lane goes first.
  void Add(const std::shared_ptr<ServerConnection>& connection);
  void Remove(const std::shared_ptr<ServerConnection>& connection);
  // False for a bulk lane whose small lane is not there (any more).
  [[nodiscard]] bool AddLane(
      uint64_t session, Lane lane,
      const std::shared_ptr<ServerConnection>& connection);
  void RemoveLane(uint64_t session, Lane lane, const ServerConnection* which);
  bool HasLane(uint64_t session, Lane lane) const;
  std::vector<std::shared_ptr<ServerConnection>> connections() const;

  // One warning, or none: Complaints says.
  void Complain(const std::string& peer, const absl::Status& why);

  // The same of a caller that has not come as far as its first request, which
  // turned_away tells of.
  void TurnAway(const std::string& peer, const absl::Status& why);
  std::string turned_away() const;

  // Calls `done`, from any thread, when nobody is connected any more (at once
  // if nobody is). One listener.
  void OnIdle(std::function<void()> done);

  Clock& clock;
  Logger& logger;
  Service& service;
  const ServerOptions options;
  ServerCounters counters;
  // Two pools, so that who holds bytes of the second waits for nobody, and
  // none can wait in a circle: the heads of messages with what is inline, and
  // what ServerCall::ReceiveAll receives.
  ByteBudget heads;
  ByteBudget bodies;

 private:
  using Lanes = std::array<std::weak_ptr<ServerConnection>, 2>;

  mutable std::mutex mutex_;
  // Ordered by age, so that a simulation does the same each time. Not owned:
  // when its executor is destroyed a connection goes with its coroutines.
  std::map<uint64_t, std::weak_ptr<ServerConnection>> connections_;
  std::map<const ServerConnection*, uint64_t> ages_;
  uint64_t next_age_ = 0;
  std::map<uint64_t, Lanes> sessions_;
  Complaints complaints_;
  uint64_t num_turned_away_ = 0;
  std::string last_turned_away_;
  std::function<void()> on_idle_;
};

}  // namespace capstan

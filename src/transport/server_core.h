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

  // Tracks the open connections. A small lane that ends takes its bulk lane
  // with it, because only the small lane is monitored; so when the server
  // leaves, the bulk lane closes first.
  void Add(const std::shared_ptr<ServerConnection>& connection);
  void Remove(const std::shared_ptr<ServerConnection>& connection);
  // Returns false for a bulk lane without an open small lane.
  [[nodiscard]] bool AddLane(
      uint64_t session, Lane lane,
      const std::shared_ptr<ServerConnection>& connection);
  void RemoveLane(uint64_t session, Lane lane, const ServerConnection* which);
  bool HasLane(uint64_t session, Lane lane) const;
  std::vector<std::shared_ptr<ServerConnection>> connections() const;

  // Logs a warning unless Complaints suppresses it.
  void Complain(const std::string& peer, const absl::Status& why);

  // Like Complain, for a caller refused before its first request; turned_away
  // reports these.
  void TurnAway(const std::string& peer, const absl::Status& why);
  std::string turned_away() const;

  // Calls `done`, from any thread, once no connection is left (at once if there
  // is none). One listener only.
  void OnIdle(std::function<void()> done);

  Clock& clock;
  Logger& logger;
  Service& service;
  const ServerOptions options;
  ServerCounters counters;
  // Two pools, so that calls cannot deadlock: `heads` for the heads of messages
  // with their inline attachments, `bodies` for what ServerCall::ReceiveAll
  // receives. A call that holds bytes of `bodies` waits for no others.
  ByteBudget heads;
  ByteBudget bodies;

 private:
  using Lanes = std::array<std::weak_ptr<ServerConnection>, 2>;

  mutable std::mutex mutex_;
  // Ordered by age, so that simulation is deterministic. Not owned: a
  // connection is destroyed with its coroutines when its executor is.
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

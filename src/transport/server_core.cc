#include "transport/server_core.h"

#include <asio/post.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "transport/server_connection.h"

namespace capstan {
ServerCore::ServerCore(Clock& clock_in, Logger& logger_in, Service& service_in,
                       ServerOptions options_in)
    : clock(clock_in),
      logger(logger_in),
      service(service_in),
      options(std::move(options_in)),
      heads(options.total_bytes / 4),
      bodies(options.total_bytes - options.total_bytes / 4) {}

void ServerCore::Add(const std::shared_ptr<ServerConnection>& connection) {
  const std::lock_guard lock(mutex_);
  ages_.emplace(connection.get(), next_age_);
  connections_.emplace(next_age_++, connection);
  ++counters.connections_open;
}

void ServerCore::Remove(const std::shared_ptr<ServerConnection>& connection) {
  std::function<void()> idle;
  {
    const std::lock_guard lock(mutex_);
    const auto found = ages_.find(connection.get());
    if (found == ages_.end()) return;
    connections_.erase(found->second);
    ages_.erase(found);
    --counters.connections_open;
    if (connections_.empty()) idle = std::move(on_idle_);
    if (connections_.empty()) on_idle_ = nullptr;
  }
  if (idle) idle();
}

bool ServerCore::AddLane(uint64_t session, Lane lane,
                         const std::shared_ptr<ServerConnection>& connection) {
  const std::lock_guard lock(mutex_);
  if (lane == Lane::kBulk) {
    const auto found = sessions_.find(session);
    const size_t small = static_cast<size_t>(Lane::kSmall);
    if (found == sessions_.end() || found->second[small].expired()) {
      return false;
    }
  }
  sessions_[session][static_cast<size_t>(lane)] = connection;
  return true;
}

void ServerCore::RemoveLane(uint64_t session, Lane lane,
                            const ServerConnection* which) {
  std::shared_ptr<ServerConnection> beside;
  {
    const std::lock_guard lock(mutex_);
    const auto found = sessions_.find(session);
    if (found == sessions_.end()) return;
    std::weak_ptr<ServerConnection>& mine =
        found->second[static_cast<size_t>(lane)];
    if (mine.lock().get() != which) return;
    mine.reset();
    const Lane other = lane == Lane::kSmall ? Lane::kBulk : Lane::kSmall;
    beside = found->second[static_cast<size_t>(other)].lock();
    if (found->second[0].expired() && found->second[1].expired()) {
      sessions_.erase(found);
    }
  }
  if (beside == nullptr) return;
  asio::post(beside->executor(), [beside, lane] {
    if (lane == Lane::kSmall) {
      beside->Fail(
          absl::UnavailableError("the connection beside this one was lost"));
    } else {
      beside->LeaveIfDone();
    }
  });
}

bool ServerCore::HasLane(uint64_t session, Lane lane) const {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(session);
  return found != sessions_.end() &&
         !found->second[static_cast<size_t>(lane)].expired();
}

std::vector<std::shared_ptr<ServerConnection>> ServerCore::connections() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<ServerConnection>> all;
  for (const auto& [age, weak] : connections_) {
    if (auto connection = weak.lock()) all.push_back(std::move(connection));
  }
  return all;
}

void ServerCore::Complain(const std::string& peer, const absl::Status& why) {
  const std::string cause = Describe(why);
  std::optional<uint64_t> unsaid;
  {
    const std::lock_guard lock(mutex_);
    unsaid = complaints_.Add(cause, clock.Now().time_since_epoch());
  }
  if (!unsaid) return;
  if (*unsaid > 0) {
    logger.Warning(
        "closed the connection from {}: {} ({} more like it since last "
        "reported)",
        peer, cause, *unsaid);
  } else {
    logger.Warning("closed the connection from {}: {}", peer, cause);
  }
}

void ServerCore::TurnAway(const std::string& peer, const absl::Status& why) {
  {
    const std::lock_guard lock(mutex_);
    ++num_turned_away_;
    last_turned_away_ = absl::StrCat(peer, ": ", why.message());
  }
  Complain(peer, why);
}

std::string ServerCore::turned_away() const {
  const std::lock_guard lock(mutex_);
  switch (num_turned_away_) {
    case 0:
      return "";
    case 1:
      return absl::StrCat("1 caller was turned away, ", last_turned_away_);
    default:
      return absl::StrCat(num_turned_away_,
                          " callers were turned away, the last one ",
                          last_turned_away_);
  }
}

void ServerCore::OnIdle(std::function<void()> done) {
  {
    const std::lock_guard lock(mutex_);
    if (!connections_.empty()) {
      on_idle_ = std::move(done);
      return;
    }
  }
  done();
}

}  // namespace capstan

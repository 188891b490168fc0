#include "simulation/sim_fabric.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "simulation/sim_connection.h"

namespace capstan {

SimFabric::SimFabric(SimClock& clock, SimTrace& trace, Random random,
                     SimNetworkOptions options)
    : clock_(clock), trace_(trace), random_(random), options_(options) {}

SimFabric::~SimFabric() = default;

uint32_t SimFabric::AddNode(std::string name) {
  nodes_.push_back({.name = std::move(name)});
  return static_cast<uint32_t>(nodes_.size() - 1);
}

absl::StatusOr<SimFabric::Address> SimFabric::ParseAddress(
    std::string_view text) {
  constexpr std::string_view kPrefix = "sim:";
  const size_t colon = text.rfind(':');
  uint32_t port = 0;
  if (!text.starts_with(kPrefix) || colon <= kPrefix.size() ||
      !absl::SimpleAtoi(std::string(text.substr(colon + 1)), &port) ||
      port > 65'535) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", std::string(text),
                     "\" is not an address of the form sim:<node>:<port>"));
  }
  return Address{
      std::string(text.substr(kPrefix.size(), colon - kPrefix.size())),
      static_cast<uint16_t>(port)};
}

std::string SimFabric::AddressOf(uint32_t node, uint16_t port) const {
  return absl::StrCat("sim:", name(node), ":", port);
}

absl::StatusOr<SimFabric::ListenerId> SimFabric::Listen(
    uint32_t node, const std::string& address, Waiter* waiter) {
  absl::StatusOr<Address> parsed = ParseAddress(address);
  if (!parsed.ok()) return parsed.status();
  if (parsed->node != name(node)) {
    return absl::UnavailableError(absl::StrCat("cannot listen on ", address,
                                               ": this is node ", name(node)));
  }
  absl::StatusOr<uint16_t> port = ChoosePort(node, parsed->port);
  if (!port.ok()) return port.status();
  const ListenerId id = next_id_++;
  listeners_.emplace(id, Listener{node, *port, waiter, {}});
  trace_.Add(clock_.Now(), name(node), "listen", *port);
  return id;
}

absl::StatusOr<uint16_t> SimFabric::ChoosePort(uint32_t node, uint16_t wanted) {
  if (wanted == 0) {
    uint16_t& next = nodes_[node].next_port;
    while (FindListener(node, next) != nullptr) ++next;
    return next++;
  }
  if (FindListener(node, wanted) != nullptr) {
    return absl::UnavailableError(absl::StrCat(
        "cannot listen on ", AddressOf(node, wanted), ": it is taken"));
  }
  return wanted;
}

void SimFabric::Unlisten(ListenerId id) {
  auto found = listeners_.extract(id);
  if (found.empty()) return;
  for (const auto& connection : found.mapped().backlog) {
    connection->Close(SimConnection::kServer);
  }
}

std::string SimFabric::ListenAddress(ListenerId id) const {
  auto found = listeners_.find(id);
  if (found == listeners_.end()) return {};
  return AddressOf(found->second.node, found->second.port);
}

std::shared_ptr<SimConnection> SimFabric::TakeConnection(ListenerId id) {
  auto found = listeners_.find(id);
  if (found == listeners_.end() || found->second.backlog.empty()) return {};
  std::shared_ptr<SimConnection> taken =
      std::move(found->second.backlog.front());
  found->second.backlog.pop_front();
  return taken;
}

absl::StatusOr<std::shared_ptr<SimConnection>> SimFabric::Connect(
    uint32_t node, const Address& address) {
  for (uint32_t peer = 0; peer < nodes_.size(); ++peer) {
    if (nodes_[peer].name != address.node) continue;
    const uint64_t id = next_id_++;
    auto connection = std::make_shared<SimConnection>(
        *this, random_.Fork(id), id, node, peer, address.port);
    connections_.emplace(id, connection);
    connection->Start();
    return connection;
  }
  return absl::UnavailableError(
      absl::StrCat("there is no node ", address.node));
}

void SimFabric::Block(uint32_t from, uint32_t to) {
  if (!blocked_.insert({from, to}).second) return;
  trace_.Add(clock_.Now(), name(from), "block", from, to);
}

void SimFabric::Unblock(uint32_t from, uint32_t to) {
  if (blocked_.erase({from, to}) == 0) return;
  trace_.Add(clock_.Now(), name(from), "unblock", from, to);
  Retry(from, to);
}

void SimFabric::SetDelay(uint32_t from, uint32_t to, Duration extra) {
  trace_.Add(clock_.Now(), name(from), "delay", to,
             static_cast<uint64_t>(extra.count()));
  delays_[{from, to}] = extra;
}

size_t SimFabric::Break(uint32_t a, uint32_t b) {
  size_t broken = 0;
  for (const auto& connection : Connections()) {
    if (!connection->Joins(a, b)) continue;
    connection->Break();
    ++broken;
  }
  trace_.Add(clock_.Now(), name(a), "break", b, broken);
  return broken;
}

void SimFabric::Crash(uint32_t node, SimCrash how) {
  trace_.Add(clock_.Now(), name(node), "crash", static_cast<uint64_t>(how));
  for (auto it = listeners_.begin(); it != listeners_.end();) {
    it = it->second.node == node ? listeners_.erase(it) : std::next(it);
  }
  for (const auto& connection : Connections()) connection->Kill(node, how);
  nodes_[node].machine_up = how == SimCrash::kProcess;
}

void SimFabric::Restart(uint32_t node) {
  trace_.Add(clock_.Now(), name(node), "restart");
  if (std::exchange(nodes_[node].machine_up, true)) return;
  for (uint32_t from = 0; from < nodes_.size(); ++from) Retry(from, node);
}

bool SimFabric::CanReach(uint32_t from, uint32_t to) const {
  return nodes_[to].machine_up && !blocked_.contains({from, to});
}

Duration SimFabric::DrawLatency(uint32_t from, uint32_t to) {
  int64_t latency = random_.Between(options_.min_latency.count(),
                                    options_.max_latency.count());
  if (random_.Chance(options_.spike_chance)) {
    latency += random_.Between(0, options_.spike.count());
  }
  auto extra = delays_.find({from, to});
  if (extra != delays_.end()) {
    latency += random_.Between(0, extra->second.count());
  }
  return Duration(latency);
}

SimFabric::Answer SimFabric::Arrive(uint32_t node, uint16_t port,
                                    SimConnection& connection) {
  Listener* listener = FindListener(node, port);
  if (listener == nullptr) return Answer::kRefuse;
  if (listener->backlog.size() >= options_.backlog) return Answer::kNone;
  listener->backlog.push_back(connection.shared_from_this());
  listener->waiter->Wake();
  return Answer::kAccept;
}

void SimFabric::Forget(uint64_t connection) { connections_.erase(connection); }

SimFabric::Listener* SimFabric::FindListener(uint32_t node, uint16_t port) {
  for (auto& [id, listener] : listeners_) {
    if (listener.node == node && listener.port == port) return &listener;
  }
  return nullptr;
}

std::vector<std::shared_ptr<SimConnection>> SimFabric::Connections() const {
  std::vector<std::shared_ptr<SimConnection>> all;
  all.reserve(connections_.size());
  for (const auto& [id, connection] : connections_) all.push_back(connection);
  return all;
}

void SimFabric::Retry(uint32_t from, uint32_t to) {
  for (const auto& connection : Connections()) connection->Retry(from, to);
}

}  // namespace capstan

// The wires between simulated nodes: who listens where, which connections
// exist, how long a packet travels and between whom none gets through. Behaves
// as TCP does between kernels: a stopped process is still connected to, bytes
// for a machine that does not answer wait, and a killed process's connections
// are reset.
//
// A node acts on another only through events of the clock, never from inside a
// call, so the order in which ready nodes run within an instant is free.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/async/waiter.h"
#include "base/random.h"
#include "simulation/sim_clock.h"
#include "simulation/sim_trace.h"

namespace capstan {

class SimConnection;

struct SimNetworkOptions {
  // How long a packet travels: a time in between, all with equal chance.
  Duration min_latency = std::chrono::microseconds(20);
  Duration max_latency = std::chrono::microseconds(400);
  // The share of packets that take up to `spike` longer.
  double spike_chance = 0.005;
  Duration spike = std::chrono::milliseconds(20);
  // How fast bytes go, in each direction of a connection. 0: at once.
  uint64_t bytes_per_second = 0;
  // How long until bytes that could not get through are sent again.
  Duration max_retransmit = std::chrono::milliseconds(300);
  // Bytes written but not yet read, per direction, at which a writer waits; a
  // size in between is drawn for each.
  uint64_t min_buffer = 2 << 10;
  uint64_t max_buffer = 256 << 10;
  // The share of connections whose first bytes come a few at a time.
  double trickle_chance = 0.1;
  // Connections that wait to be accepted; more get no answer.
  size_t backlog = 64;
};

// How a node dies.
enum class SimCrash {
  kProcess,  // kill -9: the kernel resets the connections
  kMachine,  // power loss: peers hear nothing until it is back
};

// Nodes are named by the numbers that AddNode gives. Used from one thread.
class SimFabric {
 public:
  // What identifies a listener; never reused.
  using ListenerId = uint64_t;

  // `clock` and `trace` must outlive the fabric.
  SimFabric(SimClock& clock, SimTrace& trace, Random random,
            SimNetworkOptions options);
  ~SimFabric();

  uint32_t AddNode(std::string name);
  const std::string& name(uint32_t node) const { return nodes_[node].name; }

  // "sim:<node>:<port>" taken apart. InvalidArgument if it is no such thing.
  struct Address {
    std::string node;
    uint16_t port = 0;
  };
  static absl::StatusOr<Address> ParseAddress(std::string_view text);
  std::string AddressOf(uint32_t node, uint16_t port) const;

  // Starts to listen at a port of `node`, 0 for a free one. `waiter` is woken
  // when a connection comes; it must live until Unlisten. Unavailable if the
  // port is taken or the node is not `node`.
  absl::StatusOr<ListenerId> Listen(uint32_t node, const std::string& address,
                                    Waiter* waiter);
  // Resets the connections that wait. Does nothing for a dead listener.
  void Unlisten(ListenerId id);
  // The address with its port; empty for a dead listener.
  std::string ListenAddress(ListenerId id) const;
  // The next connection that waits, or null.
  std::shared_ptr<SimConnection> TakeConnection(ListenerId id);

  // Sends the first packet of a connection from `node`. Unavailable if there
  // is no node of that name.
  absl::StatusOr<std::shared_ptr<SimConnection>> Connect(
      uint32_t node, const Address& address);

  // Stops packets from one node to the other; those under way wait.
  void Block(uint32_t from, uint32_t to);
  void Unblock(uint32_t from, uint32_t to);
  // Makes each packet from one node to the other take up to `extra` longer.
  void SetDelay(uint32_t from, uint32_t to, Duration extra);
  // Loses the connections between two nodes: each side finds out after a
  // while, and may still receive what was under way. Returns how many.
  size_t Break(uint32_t a, uint32_t b);
  // Cuts the connections and listeners of a node whose process is about to be
  // destroyed, and brings its machine back.
  void Crash(uint32_t node, SimCrash how);
  void Restart(uint32_t node);

  // For SimConnection.
  SimClock& clock() { return clock_; }
  SimTrace& trace() { return trace_; }
  const SimNetworkOptions& options() const { return options_; }
  bool CanReach(uint32_t from, uint32_t to) const;
  // How long the next packet travels.
  Duration DrawLatency(uint32_t from, uint32_t to);
  // A first packet has come: queues the connection at its listener, if there
  // is one with room, and says what the other end is told.
  enum class Answer { kAccept, kRefuse, kNone };
  Answer Arrive(uint32_t node, uint16_t port, SimConnection& connection);
  // Nobody uses the connection any more.
  void Forget(uint64_t connection);

 private:
  using Pair = std::pair<uint32_t, uint32_t>;
  struct Node {
    std::string name;
    bool machine_up = true;
    uint16_t next_port = 1024;
  };
  struct Listener {
    uint32_t node;
    uint16_t port;
    Waiter* waiter;
    std::deque<std::shared_ptr<SimConnection>> backlog;
  };

  Listener* FindListener(uint32_t node, uint16_t port);
  absl::StatusOr<uint16_t> ChoosePort(uint32_t node, uint16_t wanted);
  // The connections as they are now, so that the caller may change them.
  std::vector<std::shared_ptr<SimConnection>> Connections() const;
  void Retry(uint32_t from, uint32_t to);

  SimClock& clock_;
  SimTrace& trace_;
  Random random_;
  const SimNetworkOptions options_;
  std::vector<Node> nodes_;
  std::set<Pair> blocked_;
  std::map<Pair, Duration> delays_;
  uint64_t next_id_ = 1;
  // Ordered by age: what happens to all of them happens in that order.
  std::map<ListenerId, Listener> listeners_;
  std::map<uint64_t, std::shared_ptr<SimConnection>> connections_;
};

}  // namespace capstan

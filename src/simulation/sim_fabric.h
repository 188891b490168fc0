// The wires between simulated nodes: who listens where, which connections
// exist, how long a packet travels and which nodes are cut off from each other.
// Behaves as TCP does between kernels: a stopped process still gets
// connections, bytes for an unresponsive machine wait, and a killed process's
// connections are reset.
//
// A node affects another only through events of the clock, never inside a call,
// so nodes that are ready at the same instant may run in any order.
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
  // How long a packet travels: drawn uniformly between these.
  Duration min_latency = std::chrono::microseconds(20);
  Duration max_latency = std::chrono::microseconds(400);
  // The fraction of packets that take up to `spike` longer.
  double spike_chance = 0.005;
  Duration spike = std::chrono::milliseconds(20);
  // The bandwidth of each direction of a connection. 0: unlimited.
  uint64_t bytes_per_second = 0;
  // The longest time until bytes that could not get through are sent again.
  Duration max_retransmit = std::chrono::milliseconds(300);
  // How many bytes may be written but not yet read, per direction, before a
  // writer waits; drawn between these for each connection.
  uint64_t min_buffer = 2 << 10;
  uint64_t max_buffer = 256 << 10;
  // The fraction of connections whose first bytes arrive a few at a time.
  double trickle_chance = 0.1;
  // The most connections that may wait to be accepted; further ones get no
  // answer.
  size_t backlog = 64;
};

// How a node dies.
enum class SimCrash {
  kProcess,  // kill -9: the kernel resets the connections
  kMachine,  // power loss: peers hear nothing until it is back up
};

// Nodes are identified by the numbers that AddNode returns. Used from one
// thread.
class SimFabric {
 public:
  // Identifies a listener; never reused.
  using ListenerId = uint64_t;

  // `clock` and `trace` must outlive the fabric.
  SimFabric(SimClock& clock, SimTrace& trace, Random random,
            SimNetworkOptions options);
  ~SimFabric();

  uint32_t AddNode(std::string name);
  const std::string& name(uint32_t node) const { return nodes_[node].name; }

  // The parts of "sim:<node>:<port>"; ParseAddress returns InvalidArgument for
  // anything else.
  struct Address {
    std::string node;
    uint16_t port = 0;
  };
  static absl::StatusOr<Address> ParseAddress(std::string_view text);
  std::string AddressOf(uint32_t node, uint16_t port) const;

  // Starts listening at a port of `node`, 0 for a free one. `waiter` is woken
  // when a connection arrives; it must live until Unlisten. Unavailable if the
  // port is taken or the address names another node.
  absl::StatusOr<ListenerId> Listen(uint32_t node, const std::string& address,
                                    Waiter* waiter);
  // Closes the waiting connections. Does nothing for a dead listener.
  void Unlisten(ListenerId id);
  // The address with its port; empty for a dead listener.
  std::string ListenAddress(ListenerId id) const;
  // The next waiting connection, or null.
  std::shared_ptr<SimConnection> TakeConnection(ListenerId id);

  // Sends the first packet of a connection from `node`. Unavailable if no node
  // has that name.
  absl::StatusOr<std::shared_ptr<SimConnection>> Connect(
      uint32_t node, const Address& address);

  // Blocks packets from one node to the other; those in flight wait.
  void Block(uint32_t from, uint32_t to);
  void Unblock(uint32_t from, uint32_t to);
  // Makes each packet from one node to the other take up to `extra` longer.
  void SetDelay(uint32_t from, uint32_t to, Duration extra);
  // Breaks the connections between two nodes: each side notices after a while,
  // and may still receive what was in flight. Returns how many were broken.
  size_t Break(uint32_t a, uint32_t b);
  // Cuts the connections and listeners of a node whose process is about to be
  // destroyed, and brings its machine back up.
  void Crash(uint32_t node, SimCrash how);
  void Restart(uint32_t node);

  // For SimConnection.
  SimClock& clock() { return clock_; }
  SimTrace& trace() { return trace_; }
  const SimNetworkOptions& options() const { return options_; }
  bool CanReach(uint32_t from, uint32_t to) const;
  // How long the next packet travels.
  Duration DrawLatency(uint32_t from, uint32_t to);
  // Handles a first packet: queues the connection at its listener if there is
  // one with room. Returns what the other end is told.
  enum class Answer { kAccept, kRefuse, kNone };
  Answer Arrive(uint32_t node, uint16_t port, SimConnection& connection);
  // Nobody uses the connection any longer.
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
  // A snapshot of the connections, so that the caller may change them.
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
  // Ordered by age, so that operations on all of them happen in that order.
  std::map<ListenerId, Listener> listeners_;
  std::map<uint64_t, std::shared_ptr<SimConnection>> connections_;
};

}  // namespace capstan

// One simulated connection: two ends and, in each direction, packets in flight
// and a bounded buffer. The state machine of TCP, as far as programs see it.
//
//   an end      becomes      when
//   none        connecting   it is the one that connects
//   none        open         the first packet has reached a listener
//   connecting  open         the answer has come back
//   any         gone         it is closed, or its process dies
//
// An end that is not gone may also be `finished` (the other end has closed and
// all its bytes have been received) or `reset` (the connection is lost).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/async/waiter.h"
#include "base/bytes.h"
#include "base/random.h"
#include "simulation/sim_clock.h"
#include "simulation/sim_fabric.h"

namespace capstan {

// Used from one thread. Shared by both ends and the fabric.
class SimConnection : public std::enable_shared_from_this<SimConnection> {
 public:
  enum End { kClient = 0, kServer = 1 };

  // Draws the connection's properties from `random`. `fabric` must outlive it.
  SimConnection(SimFabric& fabric, Random random, uint64_t id, uint32_t client,
                uint32_t server, uint16_t port);
  ~SimConnection();

  // Sends the first packet.
  void Start();

  // From now on, wakes `reader` when there is something to read (or the state
  // has changed), and `writer` when there is room to write. Null detaches.
  void Attach(End end, Waiter* reader, Waiter* writer);

  bool connecting(End end) const { return at(end).state == State::kConnecting; }
  // Whether nobody was listening. A connection that is lost before it is
  // answered looks the same to its end, but does not count as refused.
  bool refused() const { return refused_; }
  // Why an end can no longer read or write; OK if it can.
  absl::Status ReadError(End end) const;
  absl::Status WriteError(End end) const;

  // Reads bytes that have arrived; returns how many, 0 if none. Sometimes fewer
  // than are available.
  size_t Read(End end, std::span<const MutableBytes> into);
  // Sends as many bytes as there is room for; returns how many, sometimes fewer
  // than would fit.
  size_t Write(End end, std::span<const Bytes> from);

  // Closes an end in order: the other end still receives what was sent before.
  void Close(End end);

  // Faults. Kill ends the connection if one of its ends is on `node`.
  void Break();
  void Kill(uint32_t node, SimCrash how);
  // Retransmits what could not get through from one node to the other.
  void Retry(uint32_t from, uint32_t to);

  uint64_t id() const { return id_; }
  bool Joins(uint32_t a, uint32_t b) const;
  // The other end, for messages.
  std::string PeerAddress(End end) const;

 private:
  enum class State { kNone, kConnecting, kOpen, kGone };
  enum class Kind { kConnect, kAccept, kData, kFinish, kReset };

  struct Packet {
    Kind kind;
    MonotonicTime arrival;
    std::vector<std::byte> bytes;
  };

  // The state of one end: what it sees, and what it has sent.
  struct Side {
    uint32_t node = 0;
    State state = State::kNone;
    bool finished = false;
    bool reset = false;
    Waiter* reader = nullptr;
    Waiter* writer = nullptr;
    // Received but not yet read, except the first `offset` bytes of the front.
    std::deque<std::vector<std::byte>> received;
    size_t offset = 0;

    // Packets in flight to the other end, in order; `event` is the arrival of
    // the first, unless it is stalled because nothing gets through.
    std::deque<Packet> sent;
    MonotonicTime line_free;  // when the last of them has left
    SimClock::EventId event;
    bool stalled = false;
    // Bytes sent and not yet acknowledged as read, and their bound.
    uint64_t unread = 0;
    uint64_t buffer = 0;
    // Bytes that the other end has read, but whose acknowledgement has not
    // arrived.
    uint64_t acknowledged = 0;
    SimClock::EventId acknowledgement;
    bool acknowledgement_stalled = false;
    // How many more bytes are sent a few at a time.
    uint64_t trickle = 0;
  };

  static End Other(End end) { return end == kClient ? kServer : kClient; }
  Side& at(End end) { return sides_[end]; }
  const Side& at(End end) const { return sides_[end]; }

  void Send(End from, Kind kind, std::vector<std::byte> bytes = {});
  void ScheduleArrival(End from);
  void OnArrival(End from);
  void Deliver(End to, Packet packet);
  void DeliverConnect();
  // The end learns that the connection is lost.
  void Reset(End end);
  // Tells the writer at `to` that `bytes` of its bytes have been read.
  void Acknowledge(End to, uint64_t bytes);
  void OnAcknowledgement(End to);
  void Wake(End end);
  void LeaveBehind(End end);
  void ForgetIfUnused();
  size_t DrawSize(Side& side, size_t most);
  void Trace(End end, std::string_view what, uint64_t size, uint64_t hash = 0);

  SimFabric& fabric_;
  Random random_;
  const uint64_t id_;
  const uint16_t port_;
  std::array<Side, 2> sides_;
  bool refused_ = false;
};

}  // namespace capstan

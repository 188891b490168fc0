#include "simulation/sim_connection.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hash.h"

namespace capstan {
namespace {

// Long enough for a few hundred bytes of the first frame or two.
constexpr uint64_t kMaxTrickle = 1500;
constexpr int64_t kMaxTricklePacket = 8;
// The fraction of reads and writes that transfer less than they could.
constexpr double kPartialChance = 0.1;

}  // namespace

SimConnection::SimConnection(SimFabric& fabric, Random random, uint64_t id,
                             uint32_t client, uint32_t server, uint16_t port)
    : fabric_(fabric), random_(random), id_(id), port_(port) {
  const SimNetworkOptions& options = fabric.options();
  at(kClient).node = client;
  at(kServer).node = server;
  for (Side& side : sides_) {
    side.buffer = static_cast<uint64_t>(
        random_.Between(static_cast<int64_t>(options.min_buffer),
                        static_cast<int64_t>(options.max_buffer)));
    if (random_.Chance(options.trickle_chance)) {
      side.trickle = random_.Below(kMaxTrickle);
    }
  }
}

SimConnection::~SimConnection() {
  LeaveBehind(kClient);
  LeaveBehind(kServer);
}

void SimConnection::Start() {
  at(kClient).state = State::kConnecting;
  Trace(kClient, "connect", port_);
  Send(kClient, Kind::kConnect);
}

void SimConnection::Attach(End end, Waiter* reader, Waiter* writer) {
  at(end).reader = reader;
  at(end).writer = writer;
}

absl::Status SimConnection::ReadError(End end) const {
  const Side& side = at(end);
  if (side.state == State::kGone) {
    return absl::UnavailableError("the connection is closed");
  }
  if (!side.received.empty()) return absl::OkStatus();
  if (side.reset) {
    return absl::UnavailableError(
        absl::StrCat(PeerAddress(end), " reset the connection"));
  }
  if (side.finished) {
    return absl::UnavailableError(
        absl::StrCat(PeerAddress(end), " closed the connection"));
  }
  return absl::OkStatus();
}

absl::Status SimConnection::WriteError(End end) const {
  const Side& side = at(end);
  if (side.state == State::kGone) {
    return absl::UnavailableError("the connection is closed");
  }
  if (side.reset) {
    return absl::UnavailableError(
        absl::StrCat(PeerAddress(end), " reset the connection"));
  }
  return absl::OkStatus();
}

size_t SimConnection::Read(End end, std::span<const MutableBytes> into) {
  Side& side = at(end);
  size_t available = 0;
  for (const auto& bytes : side.received) available += bytes.size();
  const size_t wanted =
      DrawSize(side, std::min(available - side.offset, TotalSize(into)));
  size_t done = 0;
  for (const MutableBytes& view : into) {
    for (size_t filled = 0; filled < view.size() && done < wanted;) {
      const std::vector<std::byte>& front = side.received.front();
      const size_t part = std::min(
          {front.size() - side.offset, view.size() - filled, wanted - done});
      std::memcpy(view.data() + filled, front.data() + side.offset, part);
      filled += part;
      done += part;
      side.offset += part;
      if (side.offset == front.size()) {
        side.received.pop_front();
        side.offset = 0;
      }
    }
  }
  if (done > 0) Acknowledge(Other(end), done);
  return done;
}

size_t SimConnection::Write(End end, std::span<const Bytes> from) {
  Side& side = at(end);
  const size_t room = side.buffer - std::min(side.buffer, side.unread);
  const size_t size = DrawSize(side, std::min(room, TotalSize(from)));
  if (size == 0) return 0;
  std::vector<std::byte> bytes;
  bytes.reserve(size);
  for (const Bytes& view : from) {
    const Bytes part = view.first(std::min(view.size(), size - bytes.size()));
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  side.unread += size;
  Trace(end, "send", size, Hash64(bytes));
  Send(end, Kind::kData, std::move(bytes));
  return size;
}

void SimConnection::Close(End end) {
  Side& side = at(end);
  if (side.state == State::kGone) return;
  const bool answered = side.state == State::kOpen && !side.reset;
  // A kernel resets a connection that is closed with unread bytes.
  const bool reset = !side.received.empty() && random_.Chance(0.5);
  side.state = State::kGone;
  side.received.clear();
  Attach(end, nullptr, nullptr);
  Trace(end, "close", reset ? 1 : 0);
  if (answered) Send(end, reset ? Kind::kReset : Kind::kFinish);
  ForgetIfUnused();
}

void SimConnection::Break() {
  for (End end : {kClient, kServer}) {
    Side& side = at(end);
    if (side.state == State::kGone) continue;
    if (random_.Chance(0.5)) LeaveBehind(end);
    Send(end, Kind::kReset);
  }
}

void SimConnection::Kill(uint32_t node, SimCrash how) {
  auto keep = shared_from_this();
  for (End end : {kClient, kServer}) {
    Side& side = at(end);
    if (side.node != node) continue;
    if (side.state == State::kNone || side.state == State::kGone) continue;
    const bool answered = side.state == State::kOpen && !side.reset;
    side.state = State::kGone;
    side.received.clear();
    Attach(end, nullptr, nullptr);
    if (random_.Chance(0.5)) LeaveBehind(end);
    if (answered && how == SimCrash::kProcess) {
      Send(end, random_.Chance(0.5) ? Kind::kFinish : Kind::kReset);
    }
  }
  ForgetIfUnused();
}

void SimConnection::Retry(uint32_t from, uint32_t to) {
  SimClock& clock = fabric_.clock();
  for (End end : {kClient, kServer}) {
    Side& side = at(end);
    if (side.node != from || at(Other(end)).node != to) continue;
    const Duration delay(
        random_.Between(Duration(std::chrono::milliseconds(1)).count(),
                        fabric_.options().max_retransmit.count()));
    if (side.stalled) {
      side.stalled = false;
      side.sent.front().arrival = clock.Now() + delay;
      ScheduleArrival(end);
    }
    Side& writer = at(Other(end));
    if (writer.acknowledgement_stalled) {
      writer.acknowledgement_stalled = false;
      Acknowledge(Other(end), 0);
    }
  }
}

bool SimConnection::Joins(uint32_t a, uint32_t b) const {
  const uint32_t client = at(kClient).node;
  const uint32_t server = at(kServer).node;
  return (client == a && server == b) || (client == b && server == a);
}

std::string SimConnection::PeerAddress(End end) const {
  if (end == kClient) return fabric_.AddressOf(at(kServer).node, port_);
  return absl::StrCat("sim:", fabric_.name(at(kClient).node), ":#", id_);
}

void SimConnection::Send(End from, Kind kind, std::vector<std::byte> bytes) {
  Side& side = at(from);
  MonotonicTime left = fabric_.clock().Now();
  if (const uint64_t speed = fabric_.options().bytes_per_second; speed != 0) {
    const double seconds =
        static_cast<double>(bytes.size()) / static_cast<double>(speed);
    left = std::max(left, side.line_free) +
           std::chrono::ceil<Duration>(std::chrono::duration<double>(seconds));
    side.line_free = left;
  }
  MonotonicTime arrival =
      left + fabric_.DrawLatency(side.node, at(Other(from)).node);
  if (!side.sent.empty()) {
    arrival = std::max(arrival, side.sent.back().arrival);
  }
  side.sent.push_back({kind, arrival, std::move(bytes)});
  if (side.sent.size() == 1) ScheduleArrival(from);
}

void SimConnection::ScheduleArrival(End from) {
  Side& side = at(from);
  side.event = fabric_.clock().Schedule(side.sent.front().arrival,
                                        [this, from] { OnArrival(from); });
}

void SimConnection::OnArrival(End from) {
  auto keep = shared_from_this();
  Side& side = at(from);
  if (!fabric_.CanReach(side.node, at(Other(from)).node)) {
    side.stalled = true;
    return;
  }
  const MonotonicTime now = fabric_.clock().Now();
  while (!side.sent.empty() && side.sent.front().arrival <= now) {
    Packet packet = std::move(side.sent.front());
    side.sent.pop_front();
    Deliver(Other(from), std::move(packet));
  }
  if (!side.sent.empty()) ScheduleArrival(from);
}

void SimConnection::Deliver(End to, Packet packet) {
  Side& side = at(to);
  if (packet.kind == Kind::kConnect) return DeliverConnect();
  if (packet.kind == Kind::kReset) return Reset(to);
  if (side.state == State::kGone) {
    // The end is gone: the kernel answers with a reset.
    if (at(Other(to)).state != State::kGone) Send(to, Kind::kReset);
    return;
  }
  if (side.reset) return;
  switch (packet.kind) {
    case Kind::kAccept:
      side.state = State::kOpen;
      Trace(to, "connected", port_);
      break;
    case Kind::kData:
      Trace(to, "receive", packet.bytes.size());
      side.received.push_back(std::move(packet.bytes));
      break;
    default:
      Trace(to, "finished", 0);
      side.finished = true;
  }
  Wake(to);
}

void SimConnection::DeliverConnect() {
  Side& server = at(kServer);
  if (at(kClient).state == State::kGone) return;
  switch (fabric_.Arrive(server.node, port_, *this)) {
    case SimFabric::Answer::kAccept:
      Trace(kServer, "arrive", port_);
      server.state = State::kOpen;
      return Send(kServer, Kind::kAccept);
    case SimFabric::Answer::kRefuse:
      Trace(kServer, "refuse", port_);
      server.state = State::kGone;
      refused_ = true;
      return Send(kServer, Kind::kReset);
    case SimFabric::Answer::kNone:
      return Trace(kServer, "ignore", port_);
  }
}

void SimConnection::Reset(End end) {
  Side& side = at(end);
  if (side.state == State::kGone || side.reset) return;
  side.reset = true;
  // Some kernels still deliver what arrived before, some do not.
  if (random_.Chance(0.5)) {
    side.received.clear();
    side.offset = 0;
  }
  Trace(end, "reset", side.received.size());
  Wake(end);
}

void SimConnection::Acknowledge(End to, uint64_t bytes) {
  Side& writer = at(to);
  writer.acknowledged += bytes;
  const bool waits = writer.writer != nullptr && writer.writer->occupied();
  const uint32_t reader = at(Other(to)).node;
  if (!waits && fabric_.CanReach(reader, writer.node)) {
    // Nobody can tell whether the acknowledgement took time, so it needs no
    // event.
    writer.unread -= std::exchange(writer.acknowledged, 0);
    return;
  }
  if (writer.acknowledgement.time != kNever) return;
  writer.acknowledgement =
      fabric_.clock().ScheduleAfter(fabric_.DrawLatency(reader, writer.node),
                                    [this, to] { OnAcknowledgement(to); });
}

void SimConnection::OnAcknowledgement(End to) {
  Side& writer = at(to);
  writer.acknowledgement = {};
  if (!fabric_.CanReach(at(Other(to)).node, writer.node)) {
    writer.acknowledgement_stalled = true;
    return;
  }
  writer.unread -= std::exchange(writer.acknowledged, 0);
  if (writer.writer != nullptr) writer.writer->Wake();
}

void SimConnection::Wake(End end) {
  Side& side = at(end);
  if (side.reader != nullptr) side.reader->Wake();
  if (side.reset && side.writer != nullptr) side.writer->Wake();
}

// Loses what is in flight from `end`.
void SimConnection::LeaveBehind(End end) {
  Side& side = at(end);
  fabric_.clock().Cancel(side.event);
  fabric_.clock().Cancel(side.acknowledgement);
  side.acknowledgement = {};
  side.sent.clear();
  side.stalled = false;
}

void SimConnection::ForgetIfUnused() {
  for (const Side& side : sides_) {
    if (side.state != State::kGone && side.state != State::kNone) return;
  }
  fabric_.Forget(id_);
}

// Draws how much to transfer, at most `most`: usually all, sometimes less, and
// a trickle at first.
size_t SimConnection::DrawSize(Side& side, size_t most) {
  if (most == 0) return 0;
  size_t size = most;
  if (side.trickle > 0) {
    size = std::min(size,
                    static_cast<size_t>(random_.Between(1, kMaxTricklePacket)));
    side.trickle -= std::min<uint64_t>(side.trickle, size);
  } else if (random_.Chance(kPartialChance)) {
    size = 1 + random_.Below(most);
  }
  return size;
}

void SimConnection::Trace(End end, std::string_view what, uint64_t size,
                          uint64_t hash) {
  fabric_.trace().Add(fabric_.clock().Now(), fabric_.name(at(end).node), what,
                      size, hash ^ id_);
}

}  // namespace capstan

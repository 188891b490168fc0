// Fuzzes all that reads bytes from a peer: the codecs of wire/, the server's
// side of a connection and the client's. Whatever comes, nothing may crash,
// nothing may wait for ever, and memory stays within the limits.
//
// The first byte of an input says what it is for:
//   bits 0-1: codecs, server, client
//   bit 2: the peer shakes hands properly first
//   bit 3: headers get a correct magic, version and checksum, so that the
//          fuzzer gets past them
//   bit 4: the peer falls silent at the end instead of closing
//   bit 5: the peer never reads
//   bits 6-7: how many bytes arrive at once
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/async/event.h"
#include "base/log.h"
#include "base/random.h"
#include "fuzz_network.h"
#include "simulation/sim_clock.h"
#include "transport/peer_channel.h"
#include "transport/server.h"
#include "wire/error_body.h"
#include "wire/frame.h"
#include "wire/hello.h"
#include "wire/service.h"

namespace capstan::fuzz {
namespace {

constexpr uint64_t kMiB = 1 << 20;

// Like assert, in every build.
void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

Hello Identity(const char* role) {
  Hello hello;
  hello.version = "1";
  hello.job = "fuzz";
  hello.role = role;
  return hello;
}

std::string HandshakeFrame(FrameKind kind, const char* role) {
  FrameHeader header;
  header.kind = kind;
  return EncodeHead(header, EncodeHello(Identity(role)), {});
}

FrameHeader ReadFields(std::string_view bytes) {
  // What EncodeHeader wrote for a header of ones tells where each field is;
  // here the offsets of docs/wire.md do.
  const auto load = [bytes](size_t at, size_t size) {
    uint64_t value = 0;
    for (size_t i = 0; i < size; ++i) {
      value |= uint64_t{static_cast<uint8_t>(bytes[at + i])} << (8 * i);
    }
    return value;
  };
  FrameHeader header;
  header.kind = static_cast<FrameKind>(load(5, 1));
  header.code = static_cast<uint16_t>(load(6, 2));
  header.request_id = load(8, 8);
  header.timeout_us = load(16, 8);
  header.attachment_bytes = load(24, 8);
  header.reply_limit = load(32, 8);
  header.body_bytes = static_cast<uint32_t>(load(40, 4));
  header.attachment_count = static_cast<uint32_t>(load(44, 4));
  return header;
}

// Makes magic, version, reserved bits and checksum of each header right, where
// the headers should be.
std::string Repair(std::string bytes) {
  uint64_t at = 0;
  while (at + kHeaderBytes <= bytes.size()) {
    const FrameHeader header = ReadFields(std::string_view(bytes).substr(at));
    EncodeHeader(header, std::span<std::byte, kHeaderBytes>(
                             reinterpret_cast<std::byte*>(bytes.data()) + at,
                             kHeaderBytes));
    at += kHeaderBytes + PrefixBytes(header);
    const bool data = header.kind == FrameKind::kData;
    if (data || IsInline(header)) {
      at += std::min<uint64_t>(header.attachment_bytes, bytes.size());
    }
  }
  return bytes;
}

void FuzzCodecs(std::string_view input) {
  const FrameLimits limits;
  if (input.size() >= kHeaderBytes) {
    const Bytes bytes = AsBytes(input);
    const absl::StatusOr<FrameHeader> header = DecodeHeader(
        std::span<const std::byte, kHeaderBytes>(bytes.data(), kHeaderBytes),
        limits);
    if (header.ok()) {
      std::string again(kHeaderBytes, '\0');
      EncodeHeader(*header, std::span<std::byte, kHeaderBytes>(
                                reinterpret_cast<std::byte*>(again.data()),
                                kHeaderBytes));
      Require(again == input.substr(0, kHeaderBytes), "headers round-trip");
      Require(!ToString(*header).empty(), "headers have a text");
      const uint64_t table = uint64_t{8} * header->attachment_count;
      if (input.size() - kHeaderBytes >= table) {
        const absl::StatusOr<std::vector<uint64_t>> lengths =
            DecodeLengths(*header, bytes.subspan(kHeaderBytes, table));
        uint64_t total = 0;
        if (lengths.ok()) {
          for (const uint64_t length : *lengths) total += length;
          Require(total == header->attachment_bytes, "lengths add up");
        }
      }
    }
  }
  const absl::StatusOr<Hello> hello = DecodeHello(input);
  if (hello.ok()) {
    const absl::StatusOr<Hello> again = DecodeHello(EncodeHello(*hello));
    Require(again.ok() && *again == *hello, "hellos round-trip");
    CheckHello(Identity("ps"), *hello, "worker/0").IgnoreError();
  }
  Require(DecodeError(0, input).ok(), "code 0 is OK");
  Require(!DecodeError(5, input).ok(), "code 5 is not");
}

// Does one of a few things that services do, by the method's number.
class FuzzService final : public Service {
 public:
  explicit FuzzService(const Executor& executor) : executor_(executor) {}

  Task<ServerReply> Serve(ServerCall& call) override {
    ServerReply reply;
    const auto method = static_cast<uint16_t>(call.method());
    if (method % 4 == 0) {
      absl::StatusOr<Buffer> all = co_await call.ReceiveAll();
      reply.status = all.status();
      if (!all.ok()) co_return reply;
      const auto owner = std::make_shared<Buffer>(*std::move(all));
      Require(owner->size() <= kMiB, "the budget holds");
      reply.body = call.body();
      reply.attachments.push_back(owner->bytes());
      reply.owner = owner;
    } else if (method % 4 == 1) {
      std::string memory(1'000, '\0');
      const MutableBytes view =
          std::as_writable_bytes(std::span(memory.data(), memory.size()));
      while (reply.status.ok()) reply.status = co_await call.Receive(view);
    } else if (method % 4 == 2) {
      reply.status = absl::NotFoundError("nothing was read");
    } else {
      Event cancelled(executor_);
      call.OnCancel([&cancelled] { cancelled.Set(); });
      co_await cancelled.Wait();
      Require(call.cancelled(), "who listens hears of a cancelled call");
    }
    co_return reply;
  }

 private:
  const Executor executor_;
};

// One thread in virtual time.
class Machine {
 public:
  Executor executor() { return context_.get_executor(); }
  SimClock& clock() { return clock_; }

  void RunFor(Duration duration) {
    const MonotonicTime end = clock_.Now() + duration;
    while (true) {
      context_.restart();
      context_.poll();
      if (clock_.NextTime() > end) return;
      clock_.RunNext();
    }
  }

 private:
  SimClock clock_;
  asio::io_context context_{1};
};

Task<> MarkWhenDone(Task<> task, bool& done) {
  co_await std::move(task);
  done = true;
}

void FuzzServer(std::string input, PeerHabits habits) {
  Logger logger;
  FuzzNetwork network(std::move(input), habits);
  Machine machine;
  FuzzService service(machine.executor());
  ServerOptions options;
  options.self = Identity("ps");
  options.connection_bytes = kMiB;
  options.total_bytes = 8 * kMiB;
  options.max_requests_per_connection = 8;
  absl::StatusOr<std::unique_ptr<Server>> server =
      Server::Start(machine.clock(), network, logger, service,
                    {machine.executor()}, "fuzz", options);
  Require(server.ok(), "a server starts");
  machine.RunFor(std::chrono::seconds(10));
  bool done = false;
  Spawn(machine.executor(),
        MarkWhenDone((*server)->Shutdown(machine.clock().Now()), done));
  machine.RunFor(std::chrono::seconds(10));
  Require(done, "a server shuts down");
  Require((*server)->counters().connections_open == 0, "and hangs up");
  Require((*server)->counters().bytes_in_flight == 0, "and holds nothing");
}

struct Outcome {
  bool done = false;
};

Task<> CallOnce(Channel& channel, uint16_t code, std::vector<Bytes> attachments,
                CallOptions options, Outcome& outcome) {
  const auto method = static_cast<Method>(code);
  std::string body = "body";
  absl::StatusOr<Reply> reply = co_await channel.Call(
      method, std::move(body), std::move(attachments), std::move(options));
  if (reply.ok()) {
    Require(TotalSize(reply->attachments) <= kMiB, "the limit holds");
  }
  outcome.done = true;
}

void FuzzClient(std::string input, PeerHabits habits) {
  Logger logger;
  FuzzNetwork network(std::move(input), habits);
  Machine machine;
  ChannelOptions options;
  options.self = Identity("worker");
  options.address = "fuzz";
  options.backoff.initial = std::chrono::seconds(1);
  std::unique_ptr<Channel> channel = NewPeerChannel(
      machine.clock(), network, logger, Random(1), machine.executor(), options);
  std::vector<std::byte> memory(200'000);
  // The same number on each lane, so that an answer of the peer's, which says
  // the same on both, is one to a request that was sent.
  std::vector<Outcome> outcomes(6);
  CallOptions small;
  small.timeout = std::chrono::seconds(3);
  CallOptions large = small;
  large.reply_limit = kMiB;
  CallOptions placed = small;
  placed.receive_into = {MutableBytes(memory).first(100'000),
                         MutableBytes(memory).subspan(100'000)};
  Spawn(machine.executor(), CallOnce(*channel, 1, {}, small, outcomes[0]));
  Spawn(machine.executor(),
        CallOnce(*channel, 2, {Bytes(memory)}, small, outcomes[1]));
  Spawn(machine.executor(), CallOnce(*channel, 3, {}, large, outcomes[2]));
  Spawn(machine.executor(), CallOnce(*channel, 4, {}, placed, outcomes[3]));
  Spawn(machine.executor(), CallOnce(*channel, 5, {}, small, outcomes[4]));
  Spawn(machine.executor(), CallOnce(*channel, 6, {}, small, outcomes[5]));
  machine.RunFor(std::chrono::seconds(10));
  for (const Outcome& outcome : outcomes) {
    Require(outcome.done, "a call ends by its deadline");
  }
  bool done = false;
  Spawn(machine.executor(), MarkWhenDone(channel->Close(), done));
  machine.RunFor(std::chrono::seconds(10));
  Require(done, "a channel closes");
}

void FuzzOne(std::string_view input) {
  if (input.empty()) return;
  const auto mode = static_cast<uint8_t>(input.front());
  input.remove_prefix(1);
  const int target = mode & 3;
  if (target == 0) {
    FuzzCodecs(input);
    FuzzCodecs(Repair(std::string(input)));
    return;
  }
  std::string bytes(input);
  if ((mode & 8) != 0) bytes = Repair(std::move(bytes));
  const bool client = target == 1;
  if ((mode & 4) != 0) {
    bytes = (client ? HandshakeFrame(FrameKind::kWelcome, "ps")
                    : HandshakeFrame(FrameKind::kHello, "worker")) +
            bytes;
  }
  constexpr size_t kChunks[] = {SIZE_MAX, 1, 57, 1'000};
  PeerHabits habits;
  habits.falls_silent = (mode & 16) != 0;
  habits.never_reads = (mode & 32) != 0;
  habits.chunk = kChunks[mode >> 6];
  if (client) {
    FuzzClient(std::move(bytes), habits);
  } else {
    FuzzServer(std::move(bytes), habits);
  }
}

}  // namespace
}  // namespace capstan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  capstan::fuzz::FuzzOne(
      std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}

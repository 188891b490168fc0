#include "bench_wire/wire_client.h"

#include <chrono>
#include <utility>

#include "base/async/run_on.h"
#include "base/status.h"
#include "bench_wire/calls.h"
#include "bench_wire/wire_server.h"
#include "harness/memory.h"
#include "transport/peer_channel.h"

namespace capstan {
namespace {

Task<absl::Status> RunOne(Channel& channel, const Exchange& exchange,
                          Bytes from, MutableBytes into) {
  switch (exchange.kind) {
    case ExchangeKind::kRoundTrip:
      return Echo(channel, from.first(exchange.bytes),
                  into.first(exchange.bytes));
    case ExchangeKind::kPull:
      return Pull(channel, into.first(exchange.bytes));
    case ExchangeKind::kPush:
      return Push(channel, from.first(exchange.bytes));
  }
  return Push(channel, {});
}

class WireContender final : public Contender {
 public:
  static absl::StatusOr<std::unique_ptr<Contender>> Connect(
      WireClient& client) {
    auto contender = std::unique_ptr<WireContender>(new WireContender(client));
    for (Buffer* buffer : {&contender->source_, &contender->destination_}) {
      absl::StatusOr<Buffer> memory = TouchedMemory(kLargestExchange);
      if (!memory.ok()) return memory.status();
      *buffer = *std::move(memory);
    }
    absl::Status status = RunOn(client.executor(), ConnectOn(contender.get()));
    if (!status.ok()) return status;
    return contender;
  }

  ~WireContender() override {
    if (channel_ == nullptr) return;
    RunOn(client_.executor(), CloseChannel(std::move(channel_)));
  }

  absl::StatusOr<double> Run(const Exchange& exchange) override {
    return RunOn(client_.executor(), RunAll(this, exchange));
  }

 private:
  explicit WireContender(WireClient& client) : client_(client) {}

  static Task<absl::Status> ConnectOn(WireContender* self) {
    self->channel_ = self->client_.NewChannel();
    // Also makes the server touch the memory of its answers.
    co_return co_await Pull(*self->channel_,
                            self->destination_.mutable_bytes());
  }

  static Task<absl::StatusOr<double>> RunAll(WireContender* self,
                                             Exchange exchange) {
    const Bytes from = self->source_.bytes();
    const MutableBytes into = self->destination_.mutable_bytes();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < exchange.count; ++i) {
      absl::Status status =
          co_await RunOne(*self->channel_, exchange, from, into);
      if (!status.ok()) co_return status;
    }
    const std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - start;
    co_return elapsed.count() / exchange.count;
  }

  WireClient& client_;
  Buffer source_;
  Buffer destination_;
  std::unique_ptr<Channel> channel_;  // belongs to the client's executor
};

}  // namespace

std::unique_ptr<Channel> WireClient::NewChannel() {
  ChannelOptions options;
  options.self = BenchHello("worker");
  options.address = address_;
  return NewPeerChannel(clock_, network_, logger_,
                        random_.Fork(random_.NextU64()), thread_.executor(),
                        std::move(options));
}

Task<> CloseChannel(std::unique_ptr<Channel> channel) {
  co_await channel->Close();
}

absl::StatusOr<std::unique_ptr<Contender>> ConnectWire(WireClient& client) {
  return WireContender::Connect(client);
}

}  // namespace capstan

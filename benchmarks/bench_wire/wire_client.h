// The calling side of bench_wire: channels on one I/O thread.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/async/clock.h"
#include "base/async/io_thread.h"
#include "base/async/task.h"
#include "base/log.h"
#include "base/random.h"
#include "harness/exchange.h"
#include "tensor/buffer.h"
#include "transport/stream.h"
#include "wire/channel.h"

namespace capstan {

// Owns the channels to one server. The experiments run on its executor;
// everything except executor() is used from there.
class WireClient {
 public:
  // `clock` and `network` must outlive it.
  WireClient(Clock& clock, Network& network, std::string address)
      : clock_(clock), network_(network), address_(std::move(address)) {}

  Executor executor() { return thread_.executor(); }

  // A channel to the server, not yet connected. Close it with CloseChannel.
  std::unique_ptr<Channel> NewChannel();

 private:
  Clock& clock_;
  Network& network_;
  const std::string address_;
  Logger logger_ =
      Logger::ToStderr({.level = LogLevel::kWarning, .prefix = "bench_wire"});
  Random random_ = Random::FromOs();
  IoThread thread_;
};

// Says goodbye and destroys the channel, on its executor.
Task<> CloseChannel(std::unique_ptr<Channel> channel);

// One channel, connected, as a contender. `client` must outlive it.
absl::StatusOr<std::unique_ptr<Contender>> ConnectWire(WireClient& client);

}  // namespace capstan

// The client side: a Channel over a Network that connects on first use and
// reconnects, with jittered back-off, whenever the connection is lost.
#pragma once

#include <memory>
#include <string>

#include "base/async/backoff.h"
#include "base/async/clock.h"
#include "base/async/task.h"
#include "base/log.h"
#include "base/random.h"
#include "transport/keepalive.h"
#include "transport/stream.h"
#include "wire/channel.h"
#include "wire/frame.h"
#include "wire/hello.h"

namespace capstan {

struct ChannelOptions {
  Hello self;  // the caller; the channel fills in session and lane
  std::string address;
  // The task that should answer there ("ps/1"); any other is refused. Empty:
  // any task will do.
  std::string expected_task;
  FrameLimits limits;
  KeepaliveOptions keepalive;
  // The longest that an answer may make no progress once it has begun.
  Duration stall_timeout = std::chrono::seconds(5);
  // Bytes in flight at once: requests, and answers up to the size asked for.
  // Calls beyond this wait their turn. A single call may exceed it.
  uint64_t bytes_in_flight = uint64_t{256} << 20;
  Duration connect_timeout = std::chrono::seconds(5);
  // If nobody listens at the address, calls return a Refusal at once instead of
  // waiting for a listener.
  bool fail_if_refused = false;
  BackoffOptions backoff;
};

// Makes a channel on `executor`; connects at the first call. While the peer is
// unreachable, calls wait until their deadlines. A call whose connection is
// lost after it was sent returns Unavailable and is not retried (only the
// caller knows whether that is safe). `clock`, `network` and `logger` must
// outlive the channel.
std::unique_ptr<Channel> NewPeerChannel(Clock& clock, Network& network,
                                        Logger& logger, Random random,
                                        const Executor& executor,
                                        ChannelOptions options);

}  // namespace capstan

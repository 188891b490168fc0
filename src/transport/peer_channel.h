// The calling side: a Channel over a Network, that connects when it is first
// used and again, with jittered back-off, whenever the connection is lost.
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
  Hello self;  // who calls; session and lane are filled in by the channel
  std::string address;
  // The task that should answer there ("ps/1"); another one is refused. Empty:
  // whoever answers.
  std::string expected_task;
  FrameLimits limits;
  KeepaliveOptions keepalive;
  // An answer that has begun must go on within this time.
  Duration stall_timeout = std::chrono::seconds(5);
  // Bytes under way at once (requests, and answers as far as they were asked
  // for); more calls wait their turn. One call alone may exceed it.
  uint64_t bytes_in_flight = uint64_t{256} << 20;
  Duration connect_timeout = std::chrono::seconds(5);
  // Calls return a Refusal at once if nobody listens at the address, instead of
  // waiting for somebody who does.
  bool fail_if_refused = false;
  BackoffOptions backoff;
};

// Makes a channel on `executor`; connects at the first call. While the peer
// cannot be reached, calls wait for it until their deadlines; a call whose
// connection is lost after it was sent returns Unavailable and is not repeated
// (only the caller knows whether it may be). `clock`, `network` and `logger`
// must outlive the channel.
std::unique_ptr<Channel> NewPeerChannel(Clock& clock, Network& network,
                                        Logger& logger, Random random,
                                        const Executor& executor,
                                        ChannelOptions options);

}  // namespace capstan

// The answering side: accepts connections, checks who calls, reads requests
// and hands them to a Service. Steps 2 to 4 of a request's journey in
// docs/architecture.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/async/clock.h"
#include "base/async/task.h"
#include "base/log.h"
#include "transport/keepalive.h"
#include "transport/stream.h"
#include "wire/frame.h"
#include "wire/hello.h"
#include "wire/service.h"

namespace capstan {

struct ServerOptions {
  Hello self;  // who this task is; lane and session are ignored
  FrameLimits limits;
  KeepaliveOptions keepalive;
  // Bytes of requests held in the server's memory at once, from one connection
  // and from all. At the bound the server stops reading. (What a service
  // receives into memory of its own is the service's to bound.)
  uint64_t connection_bytes = uint64_t{256} << 20;
  uint64_t total_bytes = uint64_t{2} << 30;
  // Connections at once; one more is refused by name.
  int max_connections = 16'384;
  // Requests of one connection being served at once; at the bound the server
  // stops reading from it.
  int max_requests_per_connection = 1'024;
  // A connection must say hello within this time, and a message that has begun
  // must go on: no progress for this long closes the connection.
  Duration handshake_timeout = std::chrono::seconds(5);
  Duration stall_timeout = std::chrono::seconds(5);
};

// Readable from any thread.
struct ServerCounters {
  std::atomic<uint64_t> connections_accepted = 0;
  std::atomic<uint64_t> connections_open = 0;
  // Turned away before the first request: another job, no certificate, ...
  std::atomic<uint64_t> connections_refused = 0;
  std::atomic<uint64_t> malformed = 0;  // closed for bytes against docs/wire.md
  std::atomic<uint64_t> stalled = 0;    // closed for slowness or silence
  std::atomic<uint64_t> requests = 0;
  std::atomic<uint64_t> bytes_in_flight = 0;
};

class Server {
 public:
  // Listens on `address` and serves on `executors`: the first accepts, and
  // connections are spread over all in turn. `clock`, `network`, `logger` and
  // `service` must outlive the server. Fails as Network::Listen does.
  static absl::StatusOr<std::unique_ptr<Server>> Start(
      Clock& clock, Network& network, Logger& logger, Service& service,
      std::vector<Executor> executors, const std::string& address,
      ServerOptions options);

  // The executors must not run any more, or Shutdown must have returned.
  virtual ~Server() = default;

  // Where clients reach it, with the port that was chosen.
  virtual std::string address() const = 0;

  // Stops accepting, tells the peers, lets the requests under way finish until
  // `deadline`, cancels the rest, closes all connections. Call on any executor;
  // once.
  virtual Task<> Shutdown(MonotonicTime deadline) = 0;

  virtual const ServerCounters& counters() const = 0;

  // How many callers have been turned away before they could ask for anything,
  // and why the last one was, in a sentence; empty if none was. From any
  // thread.
  virtual std::string turned_away() const = 0;
};

}  // namespace capstan

// The server side: accepts connections, checks the callers, reads requests and
// hands them to a Service. Steps 2 to 4 of a request's journey in
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
  Hello self;  // this task; lane and session are ignored
  FrameLimits limits;
  KeepaliveOptions keepalive;
  // Bytes of requests held in the server's memory at once, for one connection
  // and in total. At the limit the server stops reading. (Bytes that a service
  // receives into its own memory are for the service to limit.)
  uint64_t connection_bytes = uint64_t{256} << 20;
  uint64_t total_bytes = uint64_t{2} << 30;
  // Connections at once; one more is refused, naming the limit.
  int max_connections = 16'384;
  // Requests of one connection being served at once; at the limit the server
  // stops reading from the connection.
  int max_requests_per_connection = 1'024;
  // A connection must send its hello within handshake_timeout. A message that
  // has begun and makes no progress for stall_timeout closes the connection.
  Duration handshake_timeout = std::chrono::seconds(5);
  Duration stall_timeout = std::chrono::seconds(5);
};

// Readable from any thread.
struct ServerCounters {
  std::atomic<uint64_t> connections_accepted = 0;
  std::atomic<uint64_t> connections_open = 0;
  // Refused before the first request: another job, no certificate, ...
  std::atomic<uint64_t> connections_refused = 0;
  std::atomic<uint64_t> malformed = 0;  // closed for violating docs/wire.md
  std::atomic<uint64_t> stalled = 0;    // closed for slowness or silence
  std::atomic<uint64_t> requests = 0;
  std::atomic<uint64_t> bytes_in_flight = 0;
};

class Server {
 public:
  // Listens on `address` and serves on `executors`: the first accepts, and
  // connections are assigned to all of them round robin. `clock`, `network`,
  // `logger` and `service` must outlive the server. Fails as Network::Listen
  // does.
  static absl::StatusOr<std::unique_ptr<Server>> Start(
      Clock& clock, Network& network, Logger& logger, Service& service,
      std::vector<Executor> executors, const std::string& address,
      ServerOptions options);

  // The executors must have stopped, or Shutdown must have returned.
  virtual ~Server() = default;

  // Where clients reach the server, with the port that was chosen.
  virtual std::string address() const = 0;

  // Stops accepting, tells the peers, lets outstanding requests finish until
  // `deadline`, cancels the rest and closes all connections. Call once, on any
  // executor.
  virtual Task<> Shutdown(MonotonicTime deadline) = 0;

  virtual const ServerCounters& counters() const = 0;

  // A sentence with the number of callers refused before their first request,
  // and the reason for the last one; empty if there were none. May be called
  // from any thread.
  virtual std::string turned_away() const = 0;
};

}  // namespace capstan

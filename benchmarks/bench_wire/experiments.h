// What is measured besides the exchanges that have a bare reference. All run on
// the client's executor and clean up after themselves.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "base/async/task.h"
#include "bench_wire/wire_client.h"

namespace capstan {

// Times of single calls, in microseconds.
using Latencies = std::vector<double>;

// `count` round trips of 4 KiB over one channel: first with nothing else, then
// while pulls of 64 MiB follow one another without gaps on the same channel.
struct SmallCalls {
  Latencies idle;
  Latencies behind_large;
  // The throughput of the pulls meanwhile.
  double large_gbps = 0;
};
Task<absl::StatusOr<SmallCalls>> TimeSmallCalls(WireClient& client, int count);

// `count` times: a new channel with its connection and handshake, and a round
// trip of 8 bytes over it.
Task<absl::StatusOr<Latencies>> TimeFirstCalls(WireClient& client, int count);

// Holds `count` channels open at once. Each has answered twice: when it was
// opened, and again when all were open.
struct Connections {
  double server_bytes_each = 0;  // of the server's resident memory
  Latencies last_calls;
};
Task<absl::StatusOr<Connections>> HoldConnections(WireClient& client, int count,
                                                  int server_pid);

}  // namespace capstan

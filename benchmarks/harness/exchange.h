// What the wire benchmarks measure: exchanges between two processes on one
// machine, each a request and its reply, one after another.
//
// Three kinds, by where the N bytes go:
//   round trip  N bytes there and the same N bytes back;
//   pull        a small request, a reply of N bytes that is received in place
//               (into memory that the caller provides): how a worker reads a
//               variable, and the shape of the key figures;
//   push        a request of N bytes, a small reply; the receiver takes the
//               bytes in pieces of at most kPieceBytes into memory that it
//               reuses, like a server that applies a gradient as it arrives.
// Throughput is N divided by the time from before the request to after the
// reply: a whole exchange, not a stream of them.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace capstan {

enum class ExchangeKind { kRoundTrip, kPull, kPush };

struct Exchange {
  ExchangeKind kind;
  uint64_t bytes;  // N
  int count;       // how many, one after another
};

// The bytes of a request or reply besides its N bytes: the header of a frame.
inline constexpr uint64_t kHeadBytes = 64;
inline constexpr uint64_t kPieceBytes = 1 << 20;
inline constexpr uint64_t kLargestExchange = 64 << 20;

// One of the programs that are compared, seen from its client. Everything is
// connected, and all memory touched, before the first Run.
class Contender {
 public:
  virtual ~Contender() = default;
  // Runs `exchange.count` exchanges. Returns the seconds per exchange.
  virtual absl::StatusOr<double> Run(const Exchange& exchange) = 0;
};

}  // namespace capstan

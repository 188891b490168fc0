// Connected in-memory streams, for tests of code that works over any Stream.
// Test-only.
#pragma once

#include <memory>

#include "base/async/task.h"
#include "transport/stream.h"

namespace capstan::testing {

struct StreamPair {
  std::unique_ptr<Stream> server;
  std::unique_ptr<Stream> client;
};

// Two ends of one connection, each on its executor.
StreamPair NewStreamPair(const Executor& server, const Executor& client);

// A network with addresses "inproc:NAME".
std::unique_ptr<Network> NewInprocNetwork();

}  // namespace capstan::testing

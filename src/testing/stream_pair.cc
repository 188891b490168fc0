#include "testing/stream_pair.h"

#include "transport/inproc/inproc_connection.h"
#include "transport/inproc/inproc_network.h"
#include "transport/inproc/inproc_stream.h"

namespace capstan::testing {

StreamPair NewStreamPair(const Executor& server, const Executor& client) {
  const auto connection = std::make_shared<InprocConnection>();
  StreamPair pair;
  pair.server = std::make_unique<InprocStream>(
      server, connection, InprocConnection::kServer, "inproc:client");
  pair.client = std::make_unique<InprocStream>(
      client, connection, InprocConnection::kClient, "inproc:server");
  return pair;
}

std::unique_ptr<Network> NewInprocNetwork() {
  return std::make_unique<InprocNetwork>();
}

}  // namespace capstan::testing

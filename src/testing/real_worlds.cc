#include "testing/real_worlds.h"

#include <string>
#include <utility>
#include <vector>

#include "base/async/io_thread.h"
#include "base/async/real_clock.h"
#include "testing/real_world.h"
#include "testing/temp_dir.h"
#include "testing/test_certificates.h"
#include "transport/inproc/inproc_network.h"
#include "transport/tcp/tcp_network.h"
#include "transport/tls/tls_network.h"

namespace capstan::testing {
namespace {

constexpr char kLoopback[] = "127.0.0.1:0";
constexpr char kInproc[] = "inproc:";

// A network together with the clock it needs.
struct OwnedTcp {
  RealClock clock;
  TcpNetwork network{clock};
};

std::shared_ptr<Network> NewTcpNetwork() {
  const auto owner = std::make_shared<OwnedTcp>();
  return {owner, &owner->network};
}

// Two tasks of one job, with TLS over another network.
struct TlsPair {
  TlsPair(std::shared_ptr<Network> inner_in, const std::string& server_name,
          const std::string& client_name)
      : inner(std::move(inner_in)),
        authority(directory.path()),
        server_context(
            TlsContext::Load(clock, authority.Issue("server", server_name))
                .value()),
        client_context(
            TlsContext::Load(clock, authority.Issue("client", client_name))
                .value()),
        server(*inner, *server_context),
        client(*inner, *client_context) {}

  const std::shared_ptr<Network> inner;
  RealClock clock;
  const TempDir directory;
  const TestAuthority authority;
  const std::unique_ptr<TlsContext> server_context;
  const std::unique_ptr<TlsContext> client_context;
  TlsNetwork server;
  TlsNetwork client;
};

std::unique_ptr<TransportWorld> MakeTlsWorld(
    std::shared_ptr<Network> inner, const std::string& address,
    const std::string& server = "ps", const std::string& client = "worker") {
  const auto pair = std::make_shared<TlsPair>(std::move(inner), server, client);
  return std::make_unique<RealWorld>(
      std::shared_ptr<Network>(pair, &pair->server),
      std::shared_ptr<Network>(pair, &pair->client),
      [address] { return address; });
}

// A world whose server and client have different networks, one of which may be
// without TLS.
std::unique_ptr<TransportWorld> MakeUnequalWorld(
    std::shared_ptr<Network> server, std::shared_ptr<Network> client) {
  return std::make_unique<RealWorld>(std::move(server), std::move(client),
                                     [] { return kLoopback; });
}

std::shared_ptr<TlsPair> NewTlsPair() {
  return std::make_shared<TlsPair>(NewTcpNetwork(), "ps", "worker");
}

class OneThreadWorld final : public RealWorld {
 public:
  explicit OneThreadWorld(const std::shared_ptr<Network>& network)
      : RealWorld(network, network, [] { return kInproc; }) {}

  std::vector<Executor> executors(Side) override {
    return {thread_.executor()};
  }

 private:
  IoThread thread_;
};

}  // namespace

std::unique_ptr<TransportWorld> MakeTcpWorld() {
  const std::shared_ptr<Network> network = NewTcpNetwork();
  return std::make_unique<RealWorld>(network, network,
                                     [] { return kLoopback; });
}

std::unique_ptr<TransportWorld> MakeUnixWorld() {
  const std::shared_ptr<Network> network = NewTcpNetwork();
  const auto directory = std::make_shared<TempDir>();
  return std::make_unique<RealWorld>(
      network, network, [directory, next = 0]() mutable {
        return "unix:" + (*directory / std::to_string(next++));
      });
}

std::unique_ptr<TransportWorld> MakeInprocWorld() {
  const auto network = std::make_shared<InprocNetwork>();
  return std::make_unique<RealWorld>(network, network, [] { return kInproc; });
}

std::unique_ptr<TransportWorld> MakeInprocOneThreadWorld() {
  return std::make_unique<OneThreadWorld>(std::make_shared<InprocNetwork>());
}

std::unique_ptr<TransportWorld> MakeTlsOverTcpWorld() {
  return MakeTlsWorld(NewTcpNetwork(), kLoopback);
}

std::unique_ptr<TransportWorld> MakeTlsWorldOf(const std::string& server,
                                               const std::string& client) {
  return MakeTlsWorld(NewTcpNetwork(), kLoopback, server, client);
}

std::unique_ptr<TransportWorld> MakeTlsServerOnlyWorld() {
  const auto pair = NewTlsPair();
  return MakeUnequalWorld({pair, &pair->server}, NewTcpNetwork());
}

std::unique_ptr<TransportWorld> MakeTlsClientOnlyWorld() {
  const auto pair = NewTlsPair();
  return MakeUnequalWorld(NewTcpNetwork(), {pair, &pair->client});
}

std::unique_ptr<TransportWorld> MakeTwoAuthoritiesWorld() {
  const auto one = NewTlsPair();
  const auto other = NewTlsPair();
  return MakeUnequalWorld({one, &one->server}, {other, &other->client});
}

std::unique_ptr<TransportWorld> MakeTlsOverInprocWorld() {
  return MakeTlsWorld(std::make_shared<InprocNetwork>(), kInproc);
}

}  // namespace capstan::testing

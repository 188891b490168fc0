// The contract of a transport: what holds for a Service behind a Server that is
// called through a Channel, whatever carries the bytes. The cases are in
// tests/transport/transport_contract_*_test.cc, written once; each transport
// instantiates them in a file of a few lines:
//
//   INSTANTIATE_TEST_SUITE_P(Tcp, TransportContract,
//                            ::testing::Values(MakeTcpWorld));
//
// Test-only.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "testing/contract_service.h"
#include "testing/log_capture.h"
#include "testing/raw_peer.h"
#include "testing/test_client.h"
#include "testing/transport_world.h"
#include "transport/server.h"

namespace capstan::testing {

using WorldFactory = std::unique_ptr<TransportWorld> (*)();

inline constexpr uint64_t kKiB = 1 << 10;
inline constexpr uint64_t kMiB = 1 << 20;

// A world with a server and its service; tests create the clients. Everything
// is driven from the main thread.
class TransportHarness {
 public:
  explicit TransportHarness(std::unique_ptr<TransportWorld> world);
  // Shuts down everything that is running.
  ~TransportHarness();

  TransportWorld& world() { return *world_; }
  ContractService& service() { return service_; }
  LogCapture& log() { return log_; }
  Logger& logger() { return logger_; }

  // ps/0 and worker/3 of the same job, with timeouts that even a slow machine
  // does not reach and back-offs too short to notice.
  ServerOptions server_options() const;
  ChannelOptions client_options() const;

  // Starts the server at a new address, or again at `address`.
  void StartServer() { StartServer(server_options()); }
  void StartServer(const ServerOptions& options, const std::string& address);
  void StartServer(const ServerOptions& options);
  // Calls Server::Shutdown, with `grace` for the requests in flight.
  void ShutdownServer(Duration grace = std::chrono::seconds(0));
  // The same, started but not waited for.
  std::future<void> BeginShutdown(Duration grace);
  // As kill -9 would.
  void CrashServer();
  // Drops the server, whose executors no longer run.
  void ForgetServer() { server_ = nullptr; }

  Server& server() { return *server_; }
  const ServerCounters& counters() const { return server_->counters(); }
  const std::string& address() const { return address_; }

  std::unique_ptr<TestClient> NewClient() {
    return NewClient(client_options());
  }
  std::unique_ptr<TestClient> NewClient(const ChannelOptions& options);
  // Calls StartServer and NewClient.
  std::unique_ptr<TestClient> StartAndConnect();
  // A connection to the server without a Channel; with `hello`, also sends
  // hello and receives the welcome.
  std::unique_ptr<RawPeer> NewRawPeer(bool hello = true);
  Hello raw_hello() const;

  // Waits until `count` calls are at that gate of the service.
  void AwaitHeld(const std::string& gate, size_t count = 1);
  // Waits until `done`.
  void Await(const std::function<bool()>& done) { world_->MustRunUntil(done); }

 private:
  // Declared in this order: the service and the log outlive what runs in the
  // world.
  LogCapture log_;
  Logger logger_;
  std::unique_ptr<TransportWorld> world_;
  ContractService service_;
  std::unique_ptr<Server> server_;
  std::string address_;
};

class TransportContract : public ::testing::TestWithParam<WorldFactory>,
                          public TransportHarness {
 protected:
  TransportContract() : TransportHarness(GetParam()()) {}

  // Expects that a small echo works.
  void ExpectEcho(TestClient& client, const std::string& body = "hello");

  // Calls, and repeats the call while the result is Unavailable: right after
  // the server was lost, a call may still hit the old connection.
  absl::StatusOr<Reply> CallAgain(TestClient& client, Method method,
                                  const std::string& body,
                                  const std::vector<Bytes>& attachments = {});
  // Waits until the client has noticed that its server is gone.
  void AwaitLost(TestClient& client);
};

// Options that allow `bytes` bytes of attachments in the answer.
CallOptions ReplyUpTo(uint64_t bytes);

// The bytes of a reply's attachments, concatenated.
std::string JoinAttachments(const Reply& reply);

// The words of `text`, split at single spaces.
std::vector<std::string> SplitWords(const std::string& text);

}  // namespace capstan::testing

// The contract of a transport: a server holds no more than it was told to, and
// lets its callers wait instead of failing.
#include "testing/pattern.h"
#include "testing/status_matchers.h"
#include "testing/transport_contract.h"

namespace capstan::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

StartedCall StartTake(TestClient& client, const std::string& gate,
                      const std::vector<std::byte>& data) {
  return client.Start(
      {.method = kTakeThenHold, .body = gate, .attachments = {Bytes(data)}});
}

TEST_P(TransportContract, BytesOfOneConnectionAreBounded) {
  ServerOptions options = server_options();
  options.connection_bytes = kMiB;
  StartServer(options);
  const auto client = NewClient();
  const std::vector<std::byte> data = Pattern(0, 600 * kKiB);
  StartedCall first = StartTake(*client, "first", data);
  AwaitHeld("first");
  StartedCall second = StartTake(*client, "second", data);
  Await([this] { return service().started() == 2; });
  ExpectEcho(*client);
  EXPECT_LE(counters().bytes_in_flight, kMiB);
  EXPECT_EQ(service().gate("second").waiting(), 0u);
  // Another connection has a budget of its own.
  const auto other = NewClient();
  StartedCall third = StartTake(*other, "third", data);
  AwaitHeld("third");
  service().gate("third").Open();
  EXPECT_OK(third.Get());
  service().gate("first").Open();
  EXPECT_OK(first.Get());
  AwaitHeld("second");
  service().gate("second").Open();
  EXPECT_OK(second.Get());
  Await([this] { return counters().bytes_in_flight == 0; });
}

TEST_P(TransportContract, BytesOfAllConnectionsAreBounded) {
  ServerOptions options = server_options();
  options.total_bytes = kMiB;
  StartServer(options);
  const auto one = NewClient();
  const auto two = NewClient();
  const std::vector<std::byte> data = Pattern(0, 600 * kKiB);
  StartedCall first = StartTake(*one, "first", data);
  AwaitHeld("first");
  StartedCall second = StartTake(*two, "second", data);
  Await([this] { return service().started() == 2; });
  ExpectEcho(*one);
  ExpectEcho(*two);
  EXPECT_LE(counters().bytes_in_flight, kMiB);
  EXPECT_EQ(service().gate("second").waiting(), 0u);
  service().gate("first").Open();
  EXPECT_OK(first.Get());
  AwaitHeld("second");
  service().gate("second").Open();
  EXPECT_OK(second.Get());
  Await([this] { return counters().bytes_in_flight == 0; });
}

TEST_P(TransportContract, ManyWaitForTheBudgetAndAllGetIt) {
  ServerOptions options = server_options();
  options.connection_bytes = kMiB;
  options.total_bytes = 2 * kMiB;
  StartServer(options);
  const std::vector<std::byte> data = Pattern(0, 900 * kKiB);
  service().gate("open").Open();
  std::vector<std::unique_ptr<TestClient>> clients;
  std::vector<StartedCall> calls;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(NewClient());
    for (int j = 0; j < 4; ++j) {
      calls.push_back(StartTake(*clients.back(), "open", data));
    }
  }
  for (StartedCall& call : calls) EXPECT_OK(call.Get());
  Await([this] { return counters().bytes_in_flight == 0; });
}

TEST_P(TransportContract, WaitingForTheBudgetCanBeCancelled) {
  ServerOptions options = server_options();
  options.connection_bytes = kMiB;
  StartServer(options);
  const auto client = NewClient();
  const std::vector<std::byte> data = Pattern(0, 600 * kKiB);
  StartedCall first = StartTake(*client, "first", data);
  AwaitHeld("first");
  StartedCall second = StartTake(*client, "second", data);
  Await([this] { return service().started() == 2; });
  second.Cancel();
  EXPECT_THAT(second.Get(), StatusIs(absl::StatusCode::kCancelled));
  service().gate("first").Open();
  EXPECT_OK(first.Get());
  // The service learns of it when its turn comes, if not all had come before.
  service().gate("second").Open();
  Await([this] { return service().finished() == 2; });
  Await([this] { return counters().bytes_in_flight == 0; });
}

TEST_P(TransportContract, RequestThatCanNeverFit) {
  ServerOptions options = server_options();
  options.connection_bytes = kMiB;
  StartServer(options);
  const auto client = NewClient();
  const std::vector<std::byte> data = Pattern(0, kMiB + 1);
  EXPECT_THAT(client->Call(kEcho, "", {Bytes(data)}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("1048577"), HasSubstr("1048576"))));
  // A service that streams does not need the room.
  EXPECT_OK(client->Call(kDigest, "10000", {Bytes(data)}));
}

TEST_P(TransportContract, RequestsOfOneConnectionAreBounded) {
  ServerOptions options = server_options();
  options.max_requests_per_connection = 4;
  StartServer(options);
  const auto client = NewClient();
  std::vector<StartedCall> calls;
  for (int i = 0; i < 9; ++i) {
    calls.push_back(client->Start({.method = kHold, .body = "turn"}));
  }
  AwaitHeld("turn", 4);
  // Somebody else is served meanwhile.
  const auto other = NewClient();
  ExpectEcho(*other);
  EXPECT_EQ(service().gate("turn").waiting(), 4u);
  service().gate("turn").Open();
  for (StartedCall& call : calls) EXPECT_OK(call.Get());
}

TEST_P(TransportContract, OneConnectionTooMany) {
  ServerOptions options = server_options();
  options.max_connections = 2;
  StartServer(options);
  auto first = NewRawPeer();
  const auto second = NewRawPeer();
  const auto client = NewClient();
  const absl::StatusOr<Reply> reply = client->Call(kEcho, "");
  EXPECT_THAT(reply, StatusIs(absl::StatusCode::kResourceExhausted,
                              AllOf(HasSubstr("connections"), HasSubstr("2"))));
  EXPECT_EQ(TaskOf(reply.status()), "ps/0");
  EXPECT_EQ(counters().connections_refused, 1u);
  // When one leaves there is room again.
  first->Close();
  Await([this] { return counters().connections_open == 1; });
  ExpectEcho(*client);
}

TEST_P(TransportContract, ServerHoldsManyConnections) {
  StartServer();
  std::vector<std::unique_ptr<RawPeer>> peers;
  for (int i = 0; i < 100; ++i) peers.push_back(NewRawPeer());
  EXPECT_EQ(counters().connections_open, 100u);
  const auto client = NewClient();
  ExpectEcho(*client);
  peers.clear();
  Await([this] { return counters().connections_open == 1; });
}

}  // namespace
}  // namespace capstan::testing

// The contract of a transport: either side may leave at any time, in order or
// not, and no call is left without an answer.
#include "testing/pattern.h"
#include "testing/status_matchers.h"
#include "testing/transport_contract.h"

namespace capstan::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kLong(30);

bool Ready(const std::future<void>& future) {
  return future.wait_for(seconds(0)) == std::future_status::ready;
}

TEST_P(TransportContract, ShutdownOfAnIdleServer) {
  StartServer();
  ShutdownServer(kLong);
}

TEST_P(TransportContract, ShutdownOfAServerWithIdleClients) {
  const auto client = StartAndConnect();
  const auto raw = NewRawPeer();
  ExpectEcho(*client);
  ShutdownServer(kLong);
  // The peers were told.
  const absl::StatusOr<RawFrame> goodbye = raw->ReceiveFrame();
  ASSERT_OK(goodbye);
  EXPECT_EQ(goodbye->header.kind, FrameKind::kGoodbye);
}

TEST_P(TransportContract, ShutdownLetsRequestsFinish) {
  const auto client = StartAndConnect();
  StartedCall call = client->Start({.method = kHold, .body = "last"});
  AwaitHeld("last");
  std::future<void> shutdown = BeginShutdown(kLong);
  // Once the peer was told, the request still under way may be answered.
  ASSERT_FALSE(Ready(shutdown));
  service().gate("last").Open();
  const absl::StatusOr<Reply> reply = call.Get();
  ASSERT_OK(reply);
  EXPECT_EQ(reply->body, "last");
  world().Await(std::move(shutdown));
  EXPECT_EQ(counters().connections_open, 0u);
}

TEST_P(TransportContract, ShutdownLetsLargeAnswersFinish) {
  const auto client = StartAndConnect();
  const std::vector<std::byte> data = Pattern(0, 16 * kMiB);
  StartedCall call = client->Start({.method = kHoldThenEcho,
                                    .body = "last",
                                    .attachments = {Bytes(data)},
                                    .options = ReplyUpTo(data.size())});
  AwaitHeld("last");
  std::future<void> shutdown = BeginShutdown(kLong);
  service().gate("last").Open();
  const absl::StatusOr<Reply> reply = call.Get();
  ASSERT_OK(reply);
  EXPECT_TRUE(IsPattern(0, reply->attachments[0]));
  world().Await(std::move(shutdown));
}

TEST_P(TransportContract, ShutdownCancelsWhatDoesNotFinish) {
  const auto client = StartAndConnect();
  StartedCall call = client->Start({.method = kUntilCancelled});
  Await([this] { return service().started() == 1; });
  std::future<void> shutdown = BeginShutdown(milliseconds(20));
  const absl::StatusOr<Reply> reply = call.Get();
  EXPECT_FALSE(reply.ok());
  EXPECT_EQ(TaskOf(reply.status()), "ps/0") << Describe(reply.status());
  Await([this] { return service().cancelled() == 1; });
  world().Await(std::move(shutdown));
}

TEST_P(TransportContract, ShutdownWhileARequestArrives) {
  const auto client = StartAndConnect();
  const std::vector<std::byte> data = Pattern(0, 32 * kMiB);
  StartedCall call = client->Start(
      {.method = kHoldThenEcho, .body = "never", .attachments = {Bytes(data)}});
  AwaitHeld("never");
  std::future<void> shutdown = BeginShutdown(milliseconds(10));
  service().gate("never").Open();
  // It may have made it, or not; but it ends.
  call.Get().status().IgnoreError();
  world().Await(std::move(shutdown));
}

TEST_P(TransportContract, NoNewCallsAfterShutdown) {
  const auto client = StartAndConnect();
  ExpectEcho(*client);
  ShutdownServer();
  AwaitLost(*client);
  EXPECT_EQ(service().started(), 1);
}

TEST_P(TransportContract, CloseOfAChannelThatWasNeverUsed) {
  const auto client = StartAndConnect();
  client->Close();
  EXPECT_EQ(counters().connections_accepted, 0u);
}

TEST_P(TransportContract, CloseEndsTheCallsUnderWay) {
  const auto client = StartAndConnect();
  const std::vector<std::byte> data = Pattern(0, 16 * kMiB);
  StartedCall small = client->Start({.method = kUntilCancelled});
  StartedCall large = client->Start(
      {.method = kHoldThenEcho, .body = "large", .attachments = {Bytes(data)}});
  AwaitHeld("large");
  Await([this] { return service().started() == 2; });
  client->Close();
  EXPECT_THAT(small.Get(), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(large.Get(), StatusIs(absl::StatusCode::kCancelled));
  // The server sees that nobody waits any more.
  Await([this] { return service().cancelled() == 1; });
  service().gate("large").Open();
  Await([this] { return counters().connections_open == 0; });
  EXPECT_EQ(counters().malformed, 0u);
}

TEST_P(TransportContract, CallAfterClose) {
  const auto client = StartAndConnect();
  ExpectEcho(*client);
  client->Close();
  EXPECT_THAT(client->Call(kEcho, ""), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_EQ(service().started(), 1);
}

TEST_P(TransportContract, CloseIsAGoodbyeAndNotAFailure) {
  const auto client = StartAndConnect();
  ExpectEcho(*client);
  client->Close();
  Await([this] { return counters().connections_open == 0; });
  EXPECT_EQ(counters().malformed, 0u);
  EXPECT_EQ(counters().stalled, 0u);
  for (const LogRecord& record : log().Records()) {
    EXPECT_LT(record.level, LogLevel::kWarning) << record.line;
  }
}

TEST_P(TransportContract, CloseWhileThePeerDoesNotWelcome) {
  RawServer server(world());
  ChannelOptions options = client_options();
  options.address = server.address();
  const auto client = NewClient(options);
  StartedCall call = client->Start({.method = kEcho});
  const auto peer = server.Accept();
  ASSERT_OK(peer->ReceiveFrame());
  client->Close();
  EXPECT_THAT(call.Get(), StatusIs(absl::StatusCode::kCancelled));
  peer->ReceiveUntilClosed();
}

TEST_P(TransportContract, CloseWhileNobodyListens) {
  StartServer();
  ShutdownServer();
  const auto client = NewClient();
  StartedCall call = client->Start({.method = kEcho});
  client->Close();
  EXPECT_THAT(call.Get(), StatusIs(absl::StatusCode::kCancelled));
}

TEST_P(TransportContract, DestructionOfAChannelInUse) {
  const auto client = StartAndConnect();
  const std::vector<std::byte> data = Pattern(0, 16 * kMiB);
  std::vector<std::byte> memory(data.size());
  StartedCall small = client->Start({.method = kUntilCancelled});
  StartedCall large = client->Start(
      {.method = kHoldThenEcho, .body = "large", .attachments = {Bytes(data)}});
  CallRequest request;
  request.method = kGenerate;
  request.body = "1 " + std::to_string(memory.size());
  request.options.receive_into = {MutableBytes(memory)};
  StartedCall received = client->Start(std::move(request));
  AwaitHeld("large");
  Await([this] { return service().started() >= 2; });
  client->Destroy();
  EXPECT_THAT(small.Get(), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(large.Get(), StatusIs(absl::StatusCode::kCancelled));
  received.Get().status().IgnoreError();
  service().gate("large").Open();
  Await([this] { return counters().connections_open == 0; });
  const auto other = NewClient();
  ExpectEcho(*other);
}

TEST_P(TransportContract, DestructionOfAServerInUse) {
  const auto client = StartAndConnect();
  const std::vector<std::byte> data = Pattern(0, 16 * kMiB);
  StartedCall small = client->Start({.method = kHold, .body = "small"});
  StartedCall large = client->Start(
      {.method = kHoldThenEcho, .body = "large", .attachments = {Bytes(data)}});
  AwaitHeld("large");
  AwaitHeld("small");
  CrashServer();
  EXPECT_THAT(small.Get(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(large.Get(), StatusIs(absl::StatusCode::kUnavailable));
}

}  // namespace
}  // namespace capstan::testing

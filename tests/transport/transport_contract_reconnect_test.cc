// The contract of a transport: a channel outlives its connections.
#include "base/refusal.h"
#include "testing/pattern.h"
#include "testing/status_matchers.h"
#include "testing/transport_contract.h"

namespace capstan::testing {
namespace {

TEST_P(TransportContract, ServerComesBackAtTheSameAddress) {
  const auto client = StartAndConnect();
  const std::string address = this->address();
  StartedCall pending = client->Start({.method = kHold, .body = "pending"});
  AwaitHeld("pending");
  CrashServer();
  const absl::StatusOr<Reply> reply = pending.Get();
  EXPECT_THAT(reply, StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(TaskOf(reply.status()), "ps/0") << Describe(reply.status());
  StartServer(server_options(), address);
  ExpectEcho(*client);
  const std::vector<std::byte> data = Pattern(0, 3 * kMiB);
  EXPECT_OK(CallAgain(*client, kDigest, "100000", {Bytes(data)}));
}

TEST_P(TransportContract, ServerComesBackAfterShutdown) {
  const auto client = StartAndConnect();
  const std::string address = this->address();
  ExpectEcho(*client);
  ShutdownServer();
  AwaitLost(*client);
  // Waits for the server, and is served by the next one.
  StartedCall waiting = client->Start({.method = kEcho, .body = "waiting"});
  StartServer(server_options(), address);
  const absl::StatusOr<Reply> reply = waiting.Get();
  ASSERT_OK(reply);
  EXPECT_EQ(reply->body, "waiting");
}

TEST_P(TransportContract, CallsWaitForAServerThatStartsLater) {
  StartServer();
  const std::string address = this->address();
  ShutdownServer();
  const auto client = NewClient();
  const std::vector<std::byte> data = Pattern(0, 2 * kMiB);
  std::vector<StartedCall> calls;
  for (int i = 0; i < 5; ++i) {
    calls.push_back(client->Start({.method = kEcho}));
    calls.push_back(client->Start(
        {.method = kDigest, .body = "5000", .attachments = {Bytes(data)}}));
  }
  StartServer(server_options(), address);
  for (StartedCall& call : calls) EXPECT_OK(call.Get());
}

TEST_P(TransportContract, ARefusedCallReturnsAtOnceIfAskedTo) {
  StartServer();
  ChannelOptions options = client_options();
  options.fail_if_refused = true;
  const auto client = NewClient(options);
  ExpectEcho(*client);
  const std::string address = this->address();
  CrashServer();
  // Before it knows that it finds the broken connection.
  absl::StatusOr<Reply> reply;
  do {
    reply = client->Start({.method = kEcho}).Get();
  } while (absl::IsUnavailable(reply.status()) && !IsRefusal(reply.status()));
  EXPECT_THAT(reply, StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_TRUE(IsRefusal(reply.status())) << Describe(reply.status());
  EXPECT_EQ(TaskOf(reply.status()), "ps/0");
  StartServer(server_options(), address);
  ExpectEcho(*client);
}

TEST_P(TransportContract, ServerComesBackManyTimes) {
  const auto client = StartAndConnect();
  const std::string address = this->address();
  const std::vector<std::byte> data = Pattern(0, 200 * kKiB);
  for (int i = 0; i < 15; ++i) {
    EXPECT_OK(CallAgain(*client, kEcho, std::to_string(i)));
    EXPECT_OK(CallAgain(*client, kDigest, "5000", {Bytes(data)}));
    if (i % 2 == 0) {
      CrashServer();
    } else {
      ShutdownServer();
    }
    StartServer(server_options(), address);
  }
  EXPECT_OK(CallAgain(*client, kEcho, "last"));
}

// A call that was sent is not sent again: only its caller knows whether that
// would be right.
TEST_P(TransportContract, LostCallsAreNotRepeated) {
  const auto client = StartAndConnect();
  const std::string address = this->address();
  std::vector<StartedCall> calls;
  for (int i = 0; i < 20; ++i) {
    calls.push_back(client->Start({.method = kHold, .body = "lost"}));
  }
  AwaitHeld("lost", 20);
  CrashServer();
  for (StartedCall& call : calls) {
    EXPECT_THAT(call.Get(), StatusIs(absl::StatusCode::kUnavailable));
  }
  StartServer(server_options(), address);
  ExpectEcho(*client);
  EXPECT_EQ(service().started(), 21);
}

// The lanes of a channel die together, and both come back.
TEST_P(TransportContract, LargeCallsComeBackToo) {
  const auto client = StartAndConnect();
  const std::string address = this->address();
  const std::vector<std::byte> data = Pattern(0, 16 * kMiB);
  for (int i = 0; i < 3; ++i) {
    StartedCall large = client->Start({.method = kHoldThenEcho,
                                       .body = std::to_string(i),
                                       .attachments = {Bytes(data)}});
    AwaitHeld(std::to_string(i));
    CrashServer();
    EXPECT_THAT(large.Get(), StatusIs(absl::StatusCode::kUnavailable));
    StartServer(server_options(), address);
    const absl::StatusOr<Reply> reply =
        CallAgain(*client, kDigest, "1000000", {Bytes(data)});
    ASSERT_OK(reply);
    EXPECT_EQ(reply->body, Digest(data));
  }
}

// A different task at the old address is not taken for the one that was there.
TEST_P(TransportContract, AnotherTaskAtTheSameAddress) {
  const auto client = StartAndConnect();
  const std::string address = this->address();
  ExpectEcho(*client);
  ShutdownServer();
  ServerOptions options = server_options();
  options.self.index = 1;
  StartServer(options, address);
  EXPECT_THAT(CallAgain(*client, kEcho, ""),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(service().started(), 1);
}

}  // namespace
}  // namespace capstan::testing

// The contract of a transport: many calls at once, answered in any order, and
// none that waits for another without need.
#include "base/random.h"
#include "testing/pattern.h"
#include "testing/status_matchers.h"
#include "testing/transport_contract.h"

namespace capstan::testing {
namespace {

TEST_P(TransportContract, FiveHundredCallsAnsweredBackwards) {
  const auto client = StartAndConnect();
  constexpr int kCalls = 500;
  std::vector<StartedCall> calls;
  for (int i = 0; i < kCalls; ++i) {
    calls.push_back(
        client->Start({.method = kHold, .body = std::to_string(i)}));
  }
  Await([this] { return service().started() == kCalls; });
  for (int i = kCalls - 1; i >= 0; --i) {
    const size_t index = static_cast<size_t>(i);
    EXPECT_FALSE(calls[index].done());
    service().gate(std::to_string(i)).Open();
    const absl::StatusOr<Reply> reply = calls[index].Get();
    ASSERT_OK(reply);
    EXPECT_EQ(reply->body, std::to_string(i));
  }
}

TEST_P(TransportContract, SmallAndLargeMixed) {
  const auto client = StartAndConnect();
  Random random(7);
  constexpr size_t kCalls = 60;
  const std::vector<std::byte> data = Pattern(0, 4 * kMiB);
  std::vector<StartedCall> calls;
  std::vector<size_t> sizes;
  for (size_t i = 0; i < kCalls; ++i) {
    sizes.push_back(random.Below(random.Chance(0.2) ? data.size() : 5'000));
    CallRequest request;
    request.method = kEcho;
    request.body = std::to_string(i);
    request.attachments = {Bytes(data).first(sizes[i] / 2),
                           Bytes(data).first(sizes[i])};
    request.options.reply_limit = 2 * sizes[i];
    calls.push_back(client->Start(std::move(request)));
  }
  for (size_t i = 0; i < kCalls; ++i) {
    const absl::StatusOr<Reply> reply = calls[i].Get();
    ASSERT_OK(reply);
    EXPECT_EQ(reply->body, std::to_string(i));
    ASSERT_EQ(reply->attachments.size(), 2u);
    ASSERT_EQ(reply->attachments[0].size(), sizes[i] / 2);
    ASSERT_EQ(reply->attachments[1].size(), sizes[i]);
    EXPECT_TRUE(IsPattern(0, reply->attachments[0]));
    EXPECT_TRUE(IsPattern(0, reply->attachments[1]));
  }
}

TEST_P(TransportContract, SmallCallsPassALargeOneThatIsNotRead) {
  const auto client = StartAndConnect();
  const std::vector<std::byte> data = Pattern(0, 32 * kMiB);
  StartedCall large = client->Start({.method = kHoldThenEcho,
                                     .body = "large",
                                     .attachments = {Bytes(data)},
                                     .options = ReplyUpTo(data.size())});
  AwaitHeld("large");
  const std::vector<std::byte> small = Pattern(0, 4 * kKiB);
  for (int i = 0; i < 50; ++i) {
    EXPECT_OK(client->Call(kEcho, "small", {Bytes(small)}));
  }
  EXPECT_FALSE(large.done());
  service().gate("large").Open();
  const absl::StatusOr<Reply> reply = large.Get();
  ASSERT_OK(reply);
  EXPECT_TRUE(IsPattern(0, reply->attachments[0]));
}

TEST_P(TransportContract, LargeCallsFollowOneThatIsNotRead) {
  const auto client = StartAndConnect();
  const std::vector<std::byte> data = Pattern(0, 8 * kMiB);
  StartedCall first = client->Start({.method = kHoldThenEcho,
                                     .body = "first",
                                     .attachments = {Bytes(data)},
                                     .options = ReplyUpTo(data.size())});
  AwaitHeld("first");
  std::vector<StartedCall> others;
  for (int i = 0; i < 5; ++i) {
    others.push_back(client->Start(
        {.method = kDigest, .body = "100000", .attachments = {Bytes(data)}}));
  }
  ExpectEcho(*client);
  service().gate("first").Open();
  EXPECT_OK(first.Get());
  for (StartedCall& call : others) {
    const absl::StatusOr<Reply> reply = call.Get();
    ASSERT_OK(reply);
    EXPECT_EQ(reply->body, Digest(data));
  }
}

TEST_P(TransportContract, SmallCallsPassLargeTransfersBothWays) {
  const auto client = StartAndConnect();
  const std::vector<std::byte> data = Pattern(0, 16 * kMiB);
  std::vector<StartedCall> large;
  for (int i = 0; i < 4; ++i) {
    large.push_back(client->Start({.method = kEcho,
                                   .attachments = {Bytes(data)},
                                   .options = ReplyUpTo(data.size())}));
  }
  for (int i = 0; i < 100; ++i) ExpectEcho(*client, std::to_string(i));
  for (StartedCall& call : large) {
    const absl::StatusOr<Reply> reply = call.Get();
    ASSERT_OK(reply);
    EXPECT_TRUE(IsPattern(0, reply->attachments[0]));
  }
}

TEST_P(TransportContract, ManyClientsAtOnce) {
  StartServer();
  constexpr size_t kClients = 8;
  std::vector<std::unique_ptr<TestClient>> clients;
  std::vector<StartedCall> calls;
  const std::vector<std::byte> data = Pattern(0, kMiB);
  for (size_t i = 0; i < kClients; ++i) {
    clients.push_back(NewClient());
    calls.push_back(clients[i]->Start({.method = kHold, .body = "all"}));
    calls.push_back(clients[i]->Start(
        {.method = kDigest, .body = "5000", .attachments = {Bytes(data)}}));
  }
  AwaitHeld("all", kClients);
  service().gate("all").Open();
  for (StartedCall& call : calls) EXPECT_OK(call.Get());
}

// More bytes than the channel may have under way wait their turn, in order.
TEST_P(TransportContract, ChannelBoundsTheBytesUnderWay) {
  StartServer();
  ChannelOptions options = client_options();
  options.bytes_in_flight = kMiB;
  const auto client = NewClient(options);
  const std::vector<std::byte> data = Pattern(0, 600 * kKiB);
  const auto start = [&](const std::string& name) {
    return client->Start(
        {.method = kTakeThenHold, .body = name, .attachments = {Bytes(data)}});
  };
  StartedCall first = start("first");
  StartedCall second = start("second");
  StartedCall third = start("third");
  AwaitHeld("first");
  EXPECT_EQ(service().started(), 1);
  third.Cancel();
  EXPECT_THAT(third.Get(), StatusIs(absl::StatusCode::kCancelled));
  service().gate("first").Open();
  EXPECT_OK(first.Get());
  AwaitHeld("second");
  service().gate("second").Open();
  EXPECT_OK(second.Get());
  EXPECT_EQ(service().started(), 2);
}

TEST_P(TransportContract, OneCallMayExceedTheChannelsBound) {
  StartServer();
  ChannelOptions options = client_options();
  options.bytes_in_flight = 1'000;
  const auto client = NewClient(options);
  const std::vector<std::byte> data = Pattern(0, 3 * kMiB);
  std::vector<StartedCall> calls;
  for (int i = 0; i < 4; ++i) {
    calls.push_back(client->Start(
        {.method = kDigest, .body = "100000", .attachments = {Bytes(data)}}));
  }
  for (StartedCall& call : calls) EXPECT_OK(call.Get());
}

TEST_P(TransportContract, ReplyLimitWithoutEnd) {
  const auto client = StartAndConnect();
  CallOptions options;
  options.reply_limit = UINT64_MAX;
  std::vector<StartedCall> calls;
  for (int i = 0; i < 3; ++i) {
    calls.push_back(client->Start(
        {.method = kGenerate, .body = "2 100000", .options = options}));
  }
  for (StartedCall& call : calls) EXPECT_OK(call.Get());
}

}  // namespace
}  // namespace capstan::testing

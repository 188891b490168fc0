// The contract of a transport: every call ends by its deadline, wherever it is.
#include "testing/pattern.h"
#include "testing/status_matchers.h"
#include "testing/transport_contract.h"

namespace capstan::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr milliseconds kShort(30);

CallOptions Within(Duration timeout) {
  CallOptions options;
  options.timeout = timeout;
  return options;
}

void ExpectTooLate(const absl::StatusOr<Reply>& reply) {
  EXPECT_THAT(reply, StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_EQ(TaskOf(reply.status()), "ps/0") << Describe(reply.status());
}

TEST_P(TransportContract, DeadlineWhileNobodyListens) {
  // An address where a server was, and is no more.
  StartServer();
  ShutdownServer();
  const auto client = NewClient();
  ExpectTooLate(client->Call(kEcho, "", {}, Within(kShort)));
}

TEST_P(TransportContract, DeadlineWhileThePeerDoesNotWelcome) {
  RawServer server(world());
  ChannelOptions options = client_options();
  options.address = server.address();
  const auto client = NewClient(options);
  StartedCall call =
      client->Start({.method = kEcho, .options = Within(kShort)});
  const auto peer = server.Accept();
  ExpectTooLate(call.Get());
}

TEST_P(TransportContract, DeadlineWhileTheServiceWorks) {
  const auto client = StartAndConnect();
  // Connected first: else the deadline may pass before the request has left.
  ExpectEcho(*client);
  ExpectTooLate(client->Call(kUntilCancelled, "", {}, Within(kShort)));
  // The server learns that nobody waits any more.
  Await([this] { return service().cancelled() == 1; });
  ExpectEcho(*client);
}

TEST_P(TransportContract, DeadlineWhileSendingMuch) {
  const auto client = StartAndConnect();
  const std::vector<std::byte> data = Pattern(1, 64 * kMiB);
  ExpectTooLate(
      client->Call(kHoldThenEcho, "send", {Bytes(data)}, Within(kShort)));
  service().gate("send").Open();
  ExpectEcho(*client);
  Await([this] { return service().finished() == service().started(); });
}

TEST_P(TransportContract, DeadlineWhileReceivingMuch) {
  RawServer server(world());
  ChannelOptions options = client_options();
  options.address = server.address();
  const auto client = NewClient(options);
  std::vector<std::byte> memory(4 * kMiB);
  CallRequest request;
  request.method = kGenerate;
  // Long enough for the raw server to get as far as it wants.
  request.options.timeout = milliseconds(world().simulated() ? 200 : 1'000);
  request.options.receive_into = {MutableBytes(memory)};
  StartedCall call = client->Start(std::move(request));
  const Hello self = server_options().self;
  const auto small = server.AcceptAndWelcome(self);
  const auto peer = server.AcceptAndWelcome(self, Lane::kBulk);
  const absl::StatusOr<RawFrame> asked = peer->ReceiveFrame();
  ASSERT_OK(asked);
  // The head of an answer of 4 MiB and half of its first piece; then silence.
  FrameHeader head;
  head.kind = FrameKind::kResponse;
  head.request_id = asked->header.request_id;
  FrameHeader piece;
  piece.kind = FrameKind::kData;
  piece.request_id = asked->header.request_id;
  piece.attachment_bytes = kMaxPieceBytes;
  ASSERT_OK(peer->Send(EncodeHead(head, "", std::vector<Bytes>{memory}) +
                       HeaderBytes(piece) +
                       std::string(kMaxPieceBytes / 2, 'x')));
  ExpectTooLate(call.Get());
}

TEST_P(TransportContract, DeadlineThatHasPassed) {
  const auto client = StartAndConnect();
  ExpectTooLate(client->Call(kEcho, "", {}, Within(milliseconds(0))));
  ExpectTooLate(client->Call(kEcho, "", {}, Within(milliseconds(-5))));
  ExpectTooLate(client->Call(kEcho, "", {}, Within(Duration::min())));
  EXPECT_EQ(service().started(), 0);
  ExpectEcho(*client);
}

TEST_P(TransportContract, DeadlineThatNeverComes) {
  const auto client = StartAndConnect();
  EXPECT_OK(client->Call(kEcho, "", {}, Within(Duration::max())));
}

TEST_P(TransportContract, ServerSeesTheDeadline) {
  const auto client = StartAndConnect();
  const absl::StatusOr<Reply> reply =
      client->Call(kDescribe, "", {}, Within(std::chrono::seconds(40)));
  ASSERT_OK(reply);
  // "TASK JOB INCARNATION TIMEOUT_US LIMIT"; less than what was given, and
  // more than a tenth of it, however slow the machine.
  const std::vector<std::string> words = SplitWords(reply->body);
  ASSERT_EQ(words.size(), 5u);
  EXPECT_LE(std::stoll(words[3]), 40'000'000);
  EXPECT_GT(std::stoll(words[3]), 4'000'000);
}

TEST_P(TransportContract, ManyDeadlinesAtOnce) {
  const auto client = StartAndConnect();
  std::vector<StartedCall> calls;
  for (int i = 0; i < 100; ++i) {
    // Neither in order nor all different.
    calls.push_back(
        client->Start({.method = kUntilCancelled,
                       .options = Within(milliseconds(1 + (i * 37) % 50))}));
  }
  for (StartedCall& call : calls) ExpectTooLate(call.Get());
  ExpectEcho(*client);
  Await([this] { return service().finished() == service().started(); });
}

TEST_P(TransportContract, DeadlineOfOneLeavesTheOthers) {
  const auto client = StartAndConnect();
  StartedCall held = client->Start({.method = kHold, .body = "other"});
  AwaitHeld("other");
  ExpectTooLate(client->Call(kUntilCancelled, "", {}, Within(kShort)));
  service().gate("other").Open();
  const absl::StatusOr<Reply> reply = held.Get();
  ASSERT_OK(reply);
  EXPECT_EQ(reply->body, "other");
}

// The server gives up by its own clock, too: a caller that vanished without a
// word does not occupy it for ever.
TEST_P(TransportContract, ServerCancelsAtTheDeadline) {
  StartServer();
  const auto peer = NewRawPeer();
  FrameHeader header;
  header.kind = FrameKind::kRequest;
  header.code = static_cast<uint16_t>(kUntilCancelled);
  header.request_id = 1;
  header.timeout_us = 20'000;
  ASSERT_OK(peer->Send(FrameBytes(header)));
  Await([this] { return service().cancelled() == 1; });
}

}  // namespace
}  // namespace capstan::testing

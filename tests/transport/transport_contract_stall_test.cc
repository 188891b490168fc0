// The contract of a transport: a peer that stops is found out; one that is only
// slow is not punished.
#include "testing/pattern.h"
#include "testing/status_matchers.h"
#include "testing/transport_contract.h"

namespace capstan::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

KeepaliveOptions Impatient() {
  KeepaliveOptions keepalive;
  keepalive.interval = milliseconds(10);
  keepalive.timeout = milliseconds(200);
  return keepalive;
}

// A peer that stops after `bytes` is closed and counted.
void ExpectStalled(TransportHarness& harness, const std::string& name,
                   const std::string& bytes) {
  SCOPED_TRACE(name);
  const uint64_t before = harness.counters().stalled;
  const auto peer = harness.NewRawPeer();
  ASSERT_NE(peer, nullptr);
  ASSERT_OK(peer->Send(bytes));
  peer->ReceiveUntilClosed();
  harness.Await([&] { return harness.counters().stalled == before + 1; });
}

TEST_P(TransportContract, SenderThatStopsInsideAFrameIsClosed) {
  ServerOptions options = server_options();
  options.stall_timeout = milliseconds(50);
  StartServer(options);
  const auto client = NewClient();
  const std::string frame = RequestFrame(1, kEcho, "body", {"attachment"});
  for (const size_t count : {size_t{1}, kHeaderBytes - 1, kHeaderBytes,
                             kHeaderBytes + 3, frame.size() - 1}) {
    ExpectStalled(*this, std::to_string(count), frame.substr(0, count));
  }
  const std::string data(3 * kInlineBytes, 'd');
  FrameHeader header;
  header.kind = FrameKind::kRequest;
  header.code = static_cast<uint16_t>(kEcho);
  header.request_id = 1;
  header.timeout_us = 60'000'000;
  FrameHeader piece;
  piece.kind = FrameKind::kData;
  piece.request_id = 1;
  piece.attachment_bytes = kInlineBytes;
  const std::string head =
      EncodeHead(header, "", std::vector<Bytes>{AsBytes(data)});
  ExpectStalled(*this, "inside a piece", head + HeaderBytes(piece) + "some");
  ExpectStalled(*this, "before the first piece", head);
  ExpectStalled(*this, "between two pieces",
                head + HeaderBytes(piece) + data.substr(0, kInlineBytes));
  EXPECT_EQ(counters().malformed, 0u);
  ExpectEcho(*client);
}

// The same of an answer, whose server has a small lane that is well.
TEST_P(TransportContract, AnswerThatStopsBetweenTwoPiecesIsGivenUp) {
  RawServer server(world());
  ChannelOptions options = client_options();
  options.address = server.address();
  options.stall_timeout = milliseconds(50);
  const auto client = NewClient(options);
  StartedCall call =
      client->Start({.method = kEcho, .options = ReplyUpTo(3 * kInlineBytes)});
  const Hello self = server_options().self;
  const auto small = server.AcceptAndWelcome(self);
  const auto bulk = server.AcceptAndWelcome(self, Lane::kBulk);
  const absl::StatusOr<RawFrame> asked = bulk->ReceiveFrame();
  ASSERT_OK(asked);
  const std::string data(3 * kInlineBytes, 'd');
  FrameHeader header;
  header.kind = FrameKind::kResponse;
  header.request_id = asked->header.request_id;
  FrameHeader piece;
  piece.kind = FrameKind::kData;
  piece.request_id = header.request_id;
  piece.attachment_bytes = kInlineBytes;
  ASSERT_OK(
      bulk->Send(EncodeHead(header, "", std::vector<Bytes>{AsBytes(data)}) +
                 HeaderBytes(piece) + data.substr(0, kInlineBytes)));
  EXPECT_THAT(call.Get(), StatusIs(absl::StatusCode::kUnavailable,
                                   HasSubstr("middle of a message")));
}

TEST_P(TransportContract, QuietPeerWithoutAFrameIsNotStalled) {
  ServerOptions options = server_options();
  options.stall_timeout = milliseconds(20);
  StartServer(options);
  const auto quiet = NewRawPeer();
  // Long enough for several looks at the quiet one: a stalled one is found.
  ExpectStalled(*this, "other", "C");
  ExpectStalled(*this, "another", "C");
  ASSERT_OK(quiet->Send(RequestFrame(1, kEcho, "awake")));
  const absl::StatusOr<RawFrame> answer = quiet->ReceiveFrame();
  ASSERT_OK(answer);
  EXPECT_EQ(answer->body, "awake");
}

// A service that takes its time is not held against its caller.
TEST_P(TransportContract, SlowServiceIsNotAStalledSender) {
  ServerOptions options = server_options();
  options.stall_timeout = milliseconds(20);
  StartServer(options);
  const auto client = NewClient();
  const std::vector<std::byte> data = Pattern(0, 8 * kMiB);
  StartedCall call = client->Start({.method = kHoldThenEcho,
                                    .body = "slow",
                                    .attachments = {Bytes(data)},
                                    .options = ReplyUpTo(data.size())});
  AwaitHeld("slow");
  // Long enough for a stalled one to be found, twice.
  ExpectStalled(*this, "other", "C");
  ExpectStalled(*this, "another", "C");
  service().gate("slow").Open();
  const absl::StatusOr<Reply> reply = call.Get();
  ASSERT_OK(reply);
  EXPECT_TRUE(IsPattern(0, reply->attachments[0]));
  EXPECT_EQ(counters().stalled, 2u);
}

TEST_P(TransportContract, ServerFindsAClientThatDoesNotAnswer) {
  ServerOptions options = server_options();
  options.keepalive = Impatient();
  StartServer(options);
  const auto silent = NewRawPeer();
  // It is pinged before it is given up.
  const absl::StatusOr<RawFrame> ping =
      silent->ReceiveFrame(/*skip_pings=*/false);
  ASSERT_OK(ping);
  EXPECT_EQ(ping->header.kind, FrameKind::kPing);
  silent->ReceiveUntilClosed();
  Await([this] { return counters().stalled == 1; });
  Await([this] { return counters().connections_open == 0; });
}

TEST_P(TransportContract, ServerCancelsTheCallsOfALostClient) {
  ServerOptions options = server_options();
  options.keepalive = Impatient();
  StartServer(options);
  const auto silent = NewRawPeer();
  ASSERT_OK(silent->Send(RequestFrame(1, kUntilCancelled, "")));
  Await([this] { return service().cancelled() == 1; });
  Await([this] { return counters().connections_open == 0; });
}

TEST_P(TransportContract, ClientThatAnswersPingsIsKept) {
  ServerOptions options = server_options();
  options.keepalive = Impatient();
  StartServer(options);
  const auto peer = NewRawPeer();
  FrameHeader pong;
  pong.kind = FrameKind::kPong;
  for (int i = 0; i < 50; ++i) {
    const absl::StatusOr<RawFrame> ping =
        peer->ReceiveFrame(/*skip_pings=*/false);
    ASSERT_OK(ping);
    ASSERT_EQ(ping->header.kind, FrameKind::kPing);
    ASSERT_OK(peer->Send(HeaderBytes(pong)));
  }
  ASSERT_OK(peer->Send(RequestFrame(1, kEcho, "still here")));
  const absl::StatusOr<RawFrame> answer = peer->ReceiveFrame();
  ASSERT_OK(answer);
  EXPECT_EQ(answer->body, "still here");
  EXPECT_EQ(counters().stalled, 0u);
}

TEST_P(TransportContract, ChannelFindsAServerThatDoesNotAnswer) {
  RawServer server(world());
  ChannelOptions options = client_options();
  options.address = server.address();
  options.keepalive = Impatient();
  const auto client = NewClient(options);
  StartedCall call = client->Start({.method = kEcho});
  const Hello self = server_options().self;
  const auto silent = server.AcceptAndWelcome(self);
  const absl::StatusOr<Reply> reply = call.Get();
  EXPECT_THAT(reply, StatusIs(absl::StatusCode::kUnavailable,
                              HasSubstr("no sign of life")));
  EXPECT_EQ(TaskOf(reply.status()), "ps/0");
  // The next call gets a connection of its own.
  StartedCall next = client->Start({.method = kEcho});
  const auto fresh = server.AcceptAndWelcome(self);
  const absl::StatusOr<RawFrame> asked = fresh->ReceiveFrame();
  ASSERT_OK(asked);
  FrameHeader answer;
  answer.kind = FrameKind::kResponse;
  answer.request_id = asked->header.request_id;
  ASSERT_OK(fresh->Send(FrameBytes(answer, "here")));
  EXPECT_OK(next.Get());
}

// The bulk lane is watched through the small one beside it.
TEST_P(TransportContract, ChannelFindsASilentServerDuringALargeCall) {
  RawServer server(world());
  ChannelOptions options = client_options();
  options.address = server.address();
  options.keepalive = Impatient();
  const auto client = NewClient(options);
  const std::vector<std::byte> data = Pattern(0, 16 * kMiB);
  StartedCall call =
      client->Start({.method = kEcho, .attachments = {Bytes(data)}});
  const Hello self = server_options().self;
  const auto small = server.AcceptAndWelcome(self);
  const auto bulk = server.AcceptAndWelcome(self, Lane::kBulk);
  EXPECT_THAT(call.Get(), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_P(TransportContract, IdleChannelIsKeptAlive) {
  ServerOptions server_side = server_options();
  server_side.keepalive = Impatient();
  StartServer(server_side);
  ChannelOptions options = client_options();
  options.keepalive = Impatient();
  const auto client = NewClient(options);
  StartedCall call = client->Start({.method = kHold, .body = "idle"});
  AwaitHeld("idle");
  // Long enough for a silent one to be found.
  const auto silent = NewRawPeer();
  silent->ReceiveUntilClosed();
  Await([this] { return counters().stalled == 1; });
  service().gate("idle").Open();
  EXPECT_OK(call.Get());
  ExpectEcho(*client);
  EXPECT_EQ(counters().connections_accepted, 2u);
}

}  // namespace
}  // namespace capstan::testing

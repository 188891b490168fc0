// The contract of a transport: what a server and a channel do with frames that
// a correct peer would not send, or would send seldom.
#include "testing/status_matchers.h"
#include "testing/transport_contract.h"

namespace capstan::testing {
namespace {

using ::testing::HasSubstr;

FrameHeader Control(FrameKind kind, uint64_t id = 0) {
  FrameHeader header;
  header.kind = kind;
  header.request_id = id;
  return header;
}

FrameHeader Request(uint64_t id, Method method) {
  FrameHeader header = Control(FrameKind::kRequest, id);
  header.code = static_cast<uint16_t>(method);
  header.timeout_us = 30'000'000;
  header.reply_limit = kInlineBytes;
  return header;
}

TEST_P(TransportContract, PingIsAnswered) {
  StartServer();
  const auto peer = NewRawPeer();
  ASSERT_OK(peer->Send(HeaderBytes(Control(FrameKind::kPing))));
  const absl::StatusOr<RawFrame> pong =
      peer->ReceiveFrame(/*skip_pings=*/false);
  ASSERT_OK(pong);
  EXPECT_EQ(pong->header.kind, FrameKind::kPong);
}

TEST_P(TransportContract, FloodOfPingsIsAnswered) {
  StartServer();
  const auto peer = NewRawPeer();
  constexpr int kPings = 5'000;
  std::string pings;
  for (int i = 0; i < kPings; ++i) {
    pings += HeaderBytes(Control(FrameKind::kPing));
  }
  peer->SendBehind(pings + RequestFrame(1, kEcho, "after"));
  int pongs = 0;
  while (true) {
    const absl::StatusOr<RawFrame> frame =
        peer->ReceiveFrame(/*skip_pings=*/false);
    ASSERT_OK(frame);
    if (frame->header.kind == FrameKind::kResponse) break;
    if (frame->header.kind == FrameKind::kPong) ++pongs;
  }
  // Several that wait at once may be answered by one.
  EXPECT_GE(pongs, 1);
  EXPECT_LE(pongs, kPings);
}

TEST_P(TransportContract, PongsThatNobodyAskedForAreIgnored) {
  StartServer();
  const auto peer = NewRawPeer();
  ASSERT_OK(peer->Send(HeaderBytes(Control(FrameKind::kPong)) +
                       RequestFrame(1, kEcho, "after")));
  const absl::StatusOr<RawFrame> answer = peer->ReceiveFrame();
  ASSERT_OK(answer);
  EXPECT_EQ(answer->body, "after");
}

TEST_P(TransportContract, CancelOfAnUnknownRequestIsIgnored) {
  StartServer();
  const auto peer = NewRawPeer();
  ASSERT_OK(peer->Send(RequestFrame(1, kEcho, "first")));
  ASSERT_OK(peer->ReceiveFrame());
  // Served already: the cancel crossed the answer.
  ASSERT_OK(peer->Send(HeaderBytes(Control(FrameKind::kCancel, 1)) +
                       RequestFrame(2, kEcho, "second")));
  const absl::StatusOr<RawFrame> answer = peer->ReceiveFrame();
  ASSERT_OK(answer);
  EXPECT_EQ(answer->body, "second");
}

TEST_P(TransportContract, FramesOneByteAtATime) {
  StartServer();
  const auto peer = NewRawPeer(/*hello=*/false);
  ASSERT_OK(peer->SendSlowly(HelloFrame(raw_hello())));
  ASSERT_OK(peer->ReceiveFrame());
  for (uint64_t id = 1; id <= 5; ++id) {
    ASSERT_OK(peer->SendSlowly(
        RequestFrame(id, kEcho, "slow", {"some", "", "bytes"})));
    const absl::StatusOr<RawFrame> answer = peer->ReceiveFrame();
    ASSERT_OK(answer);
    EXPECT_EQ(answer->header.request_id, id);
    EXPECT_EQ(answer->body, "slow");
    EXPECT_EQ(answer->data, "somebytes");
  }
}

TEST_P(TransportContract, ManyRequestsInOneWrite) {
  StartServer();
  const auto peer = NewRawPeer();
  std::string bytes;
  for (uint64_t id = 1; id <= 300; ++id) {
    bytes += RequestFrame(id, kEcho, std::to_string(id));
  }
  peer->SendBehind(bytes);
  std::vector<bool> answered(301);
  for (int i = 0; i < 300; ++i) {
    const absl::StatusOr<RawFrame> answer = peer->ReceiveFrame();
    ASSERT_OK(answer);
    ASSERT_EQ(answer->header.kind, FrameKind::kResponse);
    EXPECT_EQ(answer->body, std::to_string(answer->header.request_id));
    EXPECT_FALSE(answered.at(answer->header.request_id));
    answered.at(answer->header.request_id) = true;
  }
}

// An attachment of more than kInlineBytes in pieces smaller than a piece may
// be, with other frames between them.
TEST_P(TransportContract, OddPiecesWithFramesBetweenThem) {
  StartServer();
  const auto peer = NewRawPeer();
  const std::string data(kInlineBytes + 1'000, 'p');
  std::string bytes =
      EncodeHead(Request(1, kDigest), "777", std::vector<Bytes>{AsBytes(data)});
  size_t sent = 0;
  uint64_t other = 2;
  for (const size_t size :
       {size_t{1}, size_t{60'000}, size_t{5'000}, data.size() - 65'001}) {
    FrameHeader piece = Control(FrameKind::kData, 1);
    piece.attachment_bytes = size;
    bytes += HeaderBytes(piece) + data.substr(sent, size) +
             RequestFrame(other, kEcho, "between") +
             HeaderBytes(Control(FrameKind::kPing));
    sent += size;
    ++other;
  }
  peer->SendBehind(bytes);
  int between = 0;
  std::string digest;
  for (int i = 0; i < 5; ++i) {
    const absl::StatusOr<RawFrame> answer = peer->ReceiveFrame();
    ASSERT_OK(answer);
    if (answer->header.request_id == 1) {
      digest = answer->body;
    } else {
      EXPECT_EQ(answer->body, "between");
      ++between;
    }
  }
  EXPECT_EQ(between, 4);
  EXPECT_EQ(digest, Digest(AsBytes(data)));
}

TEST_P(TransportContract, AbortedAttachmentsCancelTheRequest) {
  StartServer();
  const auto peer = NewRawPeer();
  const std::string data(3 * kInlineBytes, 'p');
  FrameHeader piece = Control(FrameKind::kData, 1);
  piece.attachment_bytes = kInlineBytes;
  ASSERT_OK(peer->Send(EncodeHead(Request(1, kDigest), "1000",
                                  std::vector<Bytes>{AsBytes(data)}) +
                       HeaderBytes(piece) + data.substr(0, kInlineBytes) +
                       HeaderBytes(Control(FrameKind::kAbort, 1)) +
                       RequestFrame(2, kEcho, "next")));
  Await([this] { return service().cut_short() == 1; });
  EXPECT_EQ(service().cut_short_code(), absl::StatusCode::kCancelled);
  absl::StatusOr<RawFrame> answer = peer->ReceiveFrame();
  ASSERT_OK(answer);
  if (answer->header.request_id == 1) answer = peer->ReceiveFrame();
  ASSERT_OK(answer);
  EXPECT_EQ(answer->body, "next");
}

TEST_P(TransportContract, GoodbyeOfAClient) {
  StartServer();
  const auto peer = NewRawPeer();
  ASSERT_OK(peer->Send(HeaderBytes(Control(FrameKind::kGoodbye))));
  peer->Close();
  Await([this] { return counters().connections_open == 0; });
  EXPECT_EQ(counters().malformed, 0u);
  for (const LogRecord& record : log().Records()) {
    EXPECT_LT(record.level, LogLevel::kWarning) << record.line;
  }
}

// After a server's goodbye calls under way are answered and new ones go to
// whoever listens there next.
TEST_P(TransportContract, GoodbyeOfAServer) {
  RawServer server(world());
  ChannelOptions options = client_options();
  options.address = server.address();
  const auto client = NewClient(options);
  StartedCall first = client->Start({.method = kEcho});
  const Hello self = server_options().self;
  const auto leaving = server.AcceptAndWelcome(self);
  const absl::StatusOr<RawFrame> asked = leaving->ReceiveFrame();
  ASSERT_OK(asked);
  FrameHeader answer = Control(FrameKind::kResponse, asked->header.request_id);
  ASSERT_OK(leaving->Send(HeaderBytes(Control(FrameKind::kGoodbye)) +
                          FrameBytes(answer, "the last")));
  const absl::StatusOr<Reply> reply = first.Get();
  ASSERT_OK(reply);
  EXPECT_EQ(reply->body, "the last");
  StartedCall second = client->Start({.method = kEcho});
  const auto next = server.AcceptAndWelcome(self);
  const absl::StatusOr<RawFrame> again = next->ReceiveFrame();
  ASSERT_OK(again);
  answer.request_id = again->header.request_id;
  ASSERT_OK(next->Send(FrameBytes(answer, "the first")));
  const absl::StatusOr<Reply> fresh = second.Get();
  ASSERT_OK(fresh);
  EXPECT_EQ(fresh->body, "the first");
}

// A raw server says `bytes` instead of an answer to request 1: the connection
// is given up, the call is Unavailable, and the channel connects anew.
void ExpectGivenUp(TransportHarness& harness, const std::string& name,
                   const std::string& bytes) {
  SCOPED_TRACE(name);
  RawServer server(harness.world());
  ChannelOptions options = harness.client_options();
  options.address = server.address();
  const auto client = harness.NewClient(options);
  StartedCall call = client->Start({.method = kEcho});
  const Hello self = harness.server_options().self;
  const auto bad = server.AcceptAndWelcome(self);
  ASSERT_OK(bad->ReceiveFrame());
  ASSERT_OK(bad->Send(bytes));
  const absl::StatusOr<Reply> reply = call.Get();
  EXPECT_THAT(reply, StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(TaskOf(reply.status()), "ps/0");
  bad->ReceiveUntilClosed();
  StartedCall next = client->Start({.method = kEcho});
  const auto good = server.AcceptAndWelcome(self);
  const absl::StatusOr<RawFrame> asked = good->ReceiveFrame();
  ASSERT_OK(asked);
  ASSERT_OK(good->Send(FrameBytes(
      Control(FrameKind::kResponse, asked->header.request_id), "fine")));
  EXPECT_OK(next.Get());
}

TEST_P(TransportContract, ChannelGivesUpAServerThatBreaksTheRules) {
  FrameHeader huge = Control(FrameKind::kResponse, 1);
  huge.attachment_bytes = uint64_t{1} << 63;
  huge.attachment_count = 1;
  FrameHeader long_body = Control(FrameKind::kResponse, 1);
  long_body.body_bytes = UINT32_MAX;
  FrameHeader piece = Control(FrameKind::kData, 1);
  piece.attachment_bytes = 10;
  const FrameHeader early = Control(FrameKind::kResponse, 77);
  ExpectGivenUp(*this, "no frame", std::string(100, 'x'));
  ExpectGivenUp(*this, "unknown id", FrameBytes(early, "whom?"));
  ExpectGivenUp(*this, "huge", HeaderBytes(huge));
  ExpectGivenUp(*this, "long body", HeaderBytes(long_body));
  ExpectGivenUp(*this, "a piece of nothing",
                HeaderBytes(piece) + std::string(10, 'x'));
  ExpectGivenUp(*this, "abort of nothing",
                HeaderBytes(Control(FrameKind::kAbort, 1)));
  ExpectGivenUp(*this, "request", RequestFrame(1, kEcho, ""));
  ExpectGivenUp(*this, "hello", HelloFrame(raw_hello()));
}

TEST_P(TransportContract, AnswerToACallThatHasEndedIsIgnored) {
  RawServer server(world());
  ChannelOptions options = client_options();
  options.address = server.address();
  const auto client = NewClient(options);
  StartedCall call = client->Start({.method = kEcho});
  const auto peer = server.AcceptAndWelcome(server_options().self);
  const absl::StatusOr<RawFrame> asked = peer->ReceiveFrame();
  ASSERT_OK(asked);
  call.Cancel();
  EXPECT_THAT(call.Get(), StatusIs(absl::StatusCode::kCancelled));
  StartedCall next = client->Start({.method = kEcho});
  ASSERT_OK(peer->Send(
      FrameBytes(Control(FrameKind::kResponse, asked->header.request_id),
                 "late", {"with", "attachments"})));
  absl::StatusOr<RawFrame> frame = peer->ReceiveFrame();
  ASSERT_OK(frame);
  EXPECT_EQ(frame->header.kind, FrameKind::kCancel);
  frame = peer->ReceiveFrame();
  ASSERT_OK(frame);
  ASSERT_OK(peer->Send(FrameBytes(
      Control(FrameKind::kResponse, frame->header.request_id), "right")));
  const absl::StatusOr<Reply> reply = next.Get();
  ASSERT_OK(reply);
  EXPECT_EQ(reply->body, "right");
}

TEST_P(TransportContract, TimeoutWithoutEnd) {
  StartServer();
  const auto peer = NewRawPeer();
  FrameHeader header = Request(1, kEcho);
  header.timeout_us = UINT64_MAX;
  ASSERT_OK(peer->Send(FrameBytes(header, "patient")));
  const absl::StatusOr<RawFrame> answer = peer->ReceiveFrame();
  ASSERT_OK(answer);
  EXPECT_EQ(answer->body, "patient");
}

}  // namespace
}  // namespace capstan::testing

// The contract of a transport: either side may vanish at any byte of a frame.
// The other one notices, and goes on with everybody else.
#include "testing/pattern.h"
#include "testing/status_matchers.h"
#include "testing/transport_contract.h"

namespace capstan::testing {
namespace {

TEST_P(TransportContract, ClientDiesAtEveryByteOfASmallRequest) {
  const auto client = StartAndConnect();
  ExpectEcho(*client);
  const std::string hello = HelloFrame(raw_hello());
  const std::string bytes =
      hello + RequestFrame(1, kEcho, "body", {"one", "", "three"});
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    const auto peer = NewRawPeer(/*hello=*/false);
    ASSERT_NE(peer, nullptr);
    ASSERT_OK(peer->Send(std::string_view(bytes).substr(0, cut)));
    peer->Close();
    if (cut % 32 == 0) ExpectEcho(*client);
  }
  // Only this test's own client is left; nobody broke a rule.
  Await([this] { return counters().connections_open == 1; });
  EXPECT_EQ(counters().malformed, 0u);
  EXPECT_EQ(counters().bytes_in_flight, 0u);
  ExpectEcho(*client);
  const auto other = NewClient();
  ExpectEcho(*other);
}

TEST_P(TransportContract, ClientDiesInsideALargeRequest) {
  const auto client = StartAndConnect();
  const std::string data(3 * kMaxPieceBytes, 'd');
  FrameHeader head;
  head.kind = FrameKind::kRequest;
  head.code = static_cast<uint16_t>(kEcho);
  head.request_id = 1;
  head.timeout_us = 60'000'000;
  FrameHeader piece;
  piece.kind = FrameKind::kData;
  piece.request_id = 1;
  piece.attachment_bytes = kMaxPieceBytes;
  std::string bytes =
      EncodeHead(head, "body", std::vector<Bytes>{AsBytes(data)});
  const size_t head_bytes = bytes.size();
  for (int i = 0; i < 3; ++i) {
    bytes += HeaderBytes(piece) + std::string(kMaxPieceBytes, 'd');
  }
  const size_t piece_bytes = kHeaderBytes + kMaxPieceBytes;
  int cut_short = 0;
  for (const size_t cut :
       {head_bytes, head_bytes + 1, head_bytes + kHeaderBytes - 1,
        head_bytes + kHeaderBytes, head_bytes + kHeaderBytes + 1,
        head_bytes + kHeaderBytes + kMaxPieceBytes / 2,
        head_bytes + piece_bytes - 1, head_bytes + piece_bytes,
        head_bytes + piece_bytes + 1, bytes.size() - 1}) {
    const Hello hello = raw_hello();
    const auto peer = NewRawPeer(/*hello=*/false);
    ASSERT_NE(peer, nullptr);
    ASSERT_OK(peer->Send(HelloFrame(hello)));
    ASSERT_OK(peer->ReceiveFrame());
    ASSERT_OK(peer->Send(std::string_view(bytes).substr(0, cut)));
    peer->Close();
    ++cut_short;
    Await([&] { return service().cut_short() == cut_short; });
    EXPECT_EQ(service().cut_short_code(), absl::StatusCode::kUnavailable);
    ExpectEcho(*client);
  }
  Await([this] { return counters().connections_open == 1; });
  Await([this] { return counters().bytes_in_flight == 0; });
  EXPECT_EQ(counters().malformed, 0u);
}

// A raw server that answers one request and dies after `cut` bytes of all that
// it would say. Returns what became of the call.
absl::StatusOr<Reply> CallWithCut(TestClient& client, RawServer& server,
                                  const Hello& self, size_t cut) {
  const std::string welcome = HelloFrame(self, FrameKind::kWelcome);
  StartedCall call = client.Start({.method = kEcho});
  bool served = false;
  while (!served) {
    const auto peer = server.Accept();
    if (peer == nullptr) return absl::InternalError("nobody connects");
    EXPECT_OK(peer->ReceiveFrame());
    // A channel that was not welcomed comes again, and is then served.
    if (cut < welcome.size()) {
      EXPECT_OK(peer->Send(std::string_view(welcome).substr(0, cut)));
      cut = SIZE_MAX;
      continue;
    }
    EXPECT_OK(peer->Send(welcome));
    const absl::StatusOr<RawFrame> request = peer->ReceiveFrame();
    if (!request.ok()) return request.status();
    FrameHeader head;
    head.kind = FrameKind::kResponse;
    head.request_id = request->header.request_id;
    const std::string answer = FrameBytes(head, "body", {"one", "", "three"});
    const size_t rest = cut == SIZE_MAX ? cut : cut - welcome.size();
    EXPECT_OK(peer->Send(std::string_view(answer).substr(0, rest)));
    served = true;
    if (rest >= answer.size()) return call.Get();
  }
  return call.Get();
}

TEST_P(TransportContract, ServerDiesAtEveryByteOfASmallAnswer) {
  RawServer server(world());
  ChannelOptions options = client_options();
  options.address = server.address();
  const Hello self = server_options().self;
  const size_t welcome = HelloFrame(self, FrameKind::kWelcome).size();
  FrameHeader head;
  head.kind = FrameKind::kResponse;
  head.request_id = 1;
  const size_t all =
      welcome + FrameBytes(head, "body", {"one", "", "three"}).size();
  for (size_t cut = 0; cut <= all; ++cut) {
    // A channel of its own each time: one that has not yet heard that its
    // connection is gone would send the next call into it and lose that call.
    const auto client = NewClient(options);
    const absl::StatusOr<Reply> reply = CallWithCut(*client, server, self, cut);
    if (cut < welcome || cut == all) {
      ASSERT_OK(reply) << "cut at " << cut;
      EXPECT_EQ(reply->body, "body");
      EXPECT_EQ(JoinAttachments(*reply), "onethree");
    } else {
      ASSERT_THAT(reply, StatusIs(absl::StatusCode::kUnavailable))
          << "cut at " << cut;
      EXPECT_EQ(TaskOf(reply.status()), "ps/0");
    }
  }
}

TEST_P(TransportContract, ServerDiesInsideALargeAnswer) {
  RawServer server(world());
  ChannelOptions options = client_options();
  options.address = server.address();
  const auto client = NewClient(options);
  const Hello self = server_options().self;
  for (const size_t cut :
       {size_t{0}, size_t{1}, kHeaderBytes, kHeaderBytes + 1,
        size_t{kMaxPieceBytes}, kHeaderBytes + kMaxPieceBytes,
        kHeaderBytes + kMaxPieceBytes + 1,
        2 * (kHeaderBytes + kMaxPieceBytes) - 1}) {
    std::vector<std::byte> memory(2 * kMaxPieceBytes);
    CallRequest request;
    request.method = kGenerate;
    request.options.receive_into = {MutableBytes(memory)};
    // AddressSanitizer sees whether it is used after the call has ended.
    request.on_return = [&memory] { memory = {}; };
    StartedCall call = client->Start(std::move(request));
    const auto small = server.AcceptAndWelcome(self);
    const auto bulk = server.AcceptAndWelcome(self, Lane::kBulk);
    const absl::StatusOr<RawFrame> asked = bulk->ReceiveFrame();
    ASSERT_OK(asked);
    FrameHeader head;
    head.kind = FrameKind::kResponse;
    head.request_id = asked->header.request_id;
    FrameHeader piece;
    piece.kind = FrameKind::kData;
    piece.request_id = asked->header.request_id;
    piece.attachment_bytes = kMaxPieceBytes;
    const std::string one =
        HeaderBytes(piece) + std::string(kMaxPieceBytes, 'x');
    ASSERT_OK(bulk->Send(EncodeHead(head, "", std::vector<Bytes>{memory})));
    ASSERT_OK(bulk->Send((one + one).substr(0, cut)));
    bulk->Close();
    EXPECT_THAT(call.Get(), StatusIs(absl::StatusCode::kUnavailable))
        << "cut at " << cut;
    small->Close();
    // So that the next round meets no connection of this one.
    CallOptions quick;
    quick.timeout = std::chrono::milliseconds(5);
    while (!absl::IsDeadlineExceeded(
        client->Call(kEcho, "", {}, quick).status())) {
    }
  }
}

}  // namespace
}  // namespace capstan::testing

// The contract of a transport: a call can be called off at any time, and once
// it has returned its memory is the caller's again.
#include <algorithm>

#include "testing/pattern.h"
#include "testing/status_matchers.h"
#include "testing/transport_contract.h"

namespace capstan::testing {
namespace {

void ExpectCancelled(const absl::StatusOr<Reply>& reply) {
  EXPECT_THAT(reply, StatusIs(absl::StatusCode::kCancelled));
  EXPECT_EQ(TaskOf(reply.status()), "ps/0") << Describe(reply.status());
}

TEST_P(TransportContract, CancelBeforeTheCall) {
  const auto client = StartAndConnect();
  ExpectCancelled(client->Call({.method = kEcho, .cancelled_before = true}));
  EXPECT_EQ(service().started(), 0);
  ExpectEcho(*client);
}

TEST_P(TransportContract, CancelWhileNobodyListens) {
  StartServer();
  ShutdownServer();
  const auto client = NewClient();
  StartedCall call = client->Start({.method = kEcho});
  call.Cancel();
  ExpectCancelled(call.Get());
}

TEST_P(TransportContract, CancelWhileThePeerDoesNotWelcome) {
  RawServer server(world());
  ChannelOptions options = client_options();
  options.address = server.address();
  const auto client = NewClient(options);
  StartedCall call = client->Start({.method = kEcho});
  const auto peer = server.Accept();
  ASSERT_OK(peer->ReceiveFrame());
  call.Cancel();
  ExpectCancelled(call.Get());
}

TEST_P(TransportContract, CancelAtOnce) {
  const auto client = StartAndConnect();
  for (int i = 0; i < 20; ++i) {
    StartedCall call = client->Start({.method = kUntilCancelled});
    call.Cancel();
    ExpectCancelled(call.Get());
  }
  ExpectEcho(*client);
  Await([this] { return service().finished() == service().started(); });
}

TEST_P(TransportContract, CancelWhileTheServiceWorks) {
  const auto client = StartAndConnect();
  StartedCall call = client->Start({.method = kUntilCancelled});
  Await([this] { return service().started() == 1; });
  call.Cancel();
  ExpectCancelled(call.Get());
  Await([this] { return service().cancelled() == 1; });
  ExpectEcho(*client);
}

TEST_P(TransportContract, CancelAfterTheEnd) {
  const auto client = StartAndConnect();
  StartedCall call = client->Start({.method = kEcho, .body = "late"});
  const absl::StatusOr<Reply> reply = call.Get();
  ASSERT_OK(reply);
  call.Cancel();
  call.Cancel();
  EXPECT_EQ(reply->body, "late");
  ExpectEcho(*client);
}

TEST_P(TransportContract, CancelOneOfMany) {
  const auto client = StartAndConnect();
  std::vector<StartedCall> held;
  for (int i = 0; i < 10; ++i) {
    held.push_back(client->Start({.method = kHold, .body = "many"}));
  }
  StartedCall cancelled = client->Start({.method = kUntilCancelled});
  AwaitHeld("many", 10);
  Await([this] { return service().started() == 11; });
  cancelled.Cancel();
  ExpectCancelled(cancelled.Get());
  service().gate("many").Open();
  for (StartedCall& call : held) EXPECT_OK(call.Get());
}

// The caller's memory is freed the moment the call returns (AddressSanitizer
// would see a later use), and a service that receives it sees nothing else.
TEST_P(TransportContract, CancelWhileSendingMuch) {
  const auto client = StartAndConnect();
  std::vector<std::byte> data = Pattern(0, 32 * kMiB);
  CallRequest request;
  request.method = kHoldThenEcho;
  request.body = "send";
  request.attachments = {Bytes(data)};
  request.on_return = [&data] {
    std::ranges::fill(data, kPoison);
    data = {};
  };
  StartedCall call = client->Start(std::move(request));
  AwaitHeld("send");
  call.Cancel();
  ExpectCancelled(call.Get());
  service().gate("send").Open();
  Await([this] { return service().cut_short() == 1; });
  EXPECT_EQ(service().cut_short_code(), absl::StatusCode::kCancelled);
  ExpectEcho(*client);
  const std::vector<std::byte> more = Pattern(0, 3 * kMiB);
  EXPECT_OK(client->Call(kDigest, "1000000", {Bytes(more)}));
}

// As above, while the service receives as fast as it can.
TEST_P(TransportContract, CancelWhileTheServiceReceives) {
  const auto client = StartAndConnect();
  for (int round = 0; round < 5; ++round) {
    const uint64_t before = service().received();
    std::vector<std::byte> data = Pattern(0, 48 * kMiB);
    CallRequest request;
    request.method = kDigest;
    request.body = "70001 check";
    request.attachments = {Bytes(data)};
    request.on_return = [&data] { std::ranges::fill(data, kPoison); };
    StartedCall call = client->Start(std::move(request));
    Await([&] { return service().received() > before; });
    call.Cancel();
    // It may have been answered just before.
    const absl::StatusOr<Reply> reply = call.Get();
    if (!reply.ok()) ExpectCancelled(reply);
    Await([this] { return service().finished() == service().started(); });
  }
  EXPECT_EQ(service().wrong_bytes(), 0u);
  ExpectEcho(*client);
}

TEST_P(TransportContract, SentMemoryIsFreeAfterTheAnswer) {
  const auto client = StartAndConnect();
  for (const uint64_t size : {uint64_t{1000}, kInlineBytes, 5 * kMiB}) {
    std::vector<std::byte> data = Pattern(0, size);
    CallRequest request;
    request.method = kDigest;
    request.body = "65536 check";
    request.attachments = {Bytes(data)};
    request.on_return = [&data] { std::ranges::fill(data, kPoison); };
    EXPECT_OK(client->Call(std::move(request)));
  }
  EXPECT_EQ(service().wrong_bytes(), 0u);
}

// A peer plays the server: it sends a part of the answer, the call is called
// off, and the rest must not go to memory that is the caller's again.
TEST_P(TransportContract, CancelWhileReceivingMuch) {
  RawServer server(world());
  ChannelOptions options = client_options();
  options.address = server.address();
  const auto client = NewClient(options);
  std::vector<std::byte> memory(2 * kMaxPieceBytes);
  CallRequest request;
  request.method = kGenerate;
  request.options.receive_into = {MutableBytes(memory)};
  request.on_return = [&memory] { std::ranges::fill(memory, kPoison); };
  StartedCall call = client->Start(std::move(request));
  const Hello self = server_options().self;
  const auto small = server.AcceptAndWelcome(self);
  const auto peer = server.AcceptAndWelcome(self, Lane::kBulk);
  const absl::StatusOr<RawFrame> asked = peer->ReceiveFrame();
  ASSERT_OK(asked);
  const uint64_t id = asked->header.request_id;
  FrameHeader head;
  head.kind = FrameKind::kResponse;
  head.request_id = id;
  FrameHeader piece;
  piece.kind = FrameKind::kData;
  piece.request_id = id;
  piece.attachment_bytes = kMaxPieceBytes;
  ASSERT_OK(peer->Send(EncodeHead(head, "", std::vector<Bytes>{memory}) +
                       HeaderBytes(piece) + std::string(1000, 'x')));
  // The piece has begun to arrive, unless the machine is slow; then the call
  // is called off a little earlier, which must be fine as well.
  ASSERT_OK(peer->Send(std::string(kMaxPieceBytes / 2 - 1000, 'x')));
  call.Cancel();
  ExpectCancelled(call.Get());
  const absl::StatusOr<RawFrame> cancel = peer->ReceiveFrame();
  ASSERT_OK(cancel);
  EXPECT_EQ(cancel->header.kind, FrameKind::kCancel);
  EXPECT_EQ(cancel->header.request_id, id);
  // The rest of the answer, which was on its way.
  ASSERT_OK(peer->Send(std::string(kMaxPieceBytes / 2, 'y') +
                       HeaderBytes(piece) + std::string(kMaxPieceBytes, 'z')));
  // A further call on the same connection: all of it was read past.
  StartedCall next =
      client->Start({.method = kEcho, .options = ReplyUpTo(kMiB)});
  const absl::StatusOr<RawFrame> again = peer->ReceiveFrame();
  ASSERT_OK(again);
  EXPECT_EQ(again->header.kind, FrameKind::kRequest);
  FrameHeader answer;
  answer.kind = FrameKind::kResponse;
  answer.request_id = again->header.request_id;
  ASSERT_OK(peer->Send(FrameBytes(answer, "still here")));
  const absl::StatusOr<Reply> reply = next.Get();
  ASSERT_OK(reply);
  EXPECT_EQ(reply->body, "still here");
  EXPECT_TRUE(AllAre(kPoison, memory));
}

// Called off at whatever moment the scheduler chooses.
TEST_P(TransportContract, ReceivedMemoryIsFreeAfterCancel) {
  const auto client = StartAndConnect();
  std::vector<std::byte> memory(16 * kMiB);
  for (int round = 0; round < 10; ++round) {
    const int before = service().finished();
    CallRequest request;
    request.method = kGenerate;
    request.body = "1 " + std::to_string(memory.size());
    request.options.receive_into = {MutableBytes(memory)};
    request.on_return = [&memory] { std::ranges::fill(memory, kPoison); };
    StartedCall call = client->Start(std::move(request));
    Await([&] { return service().finished() > before || call.done(); });
    call.Cancel();
    const absl::StatusOr<Reply> reply = call.Get();
    if (!reply.ok()) ExpectCancelled(reply);
    CallOptions options;
    options.reply_limit = kMiB;
    EXPECT_OK(client->Call(kGenerate, "2 40000", {}, options));
    ASSERT_TRUE(AllAre(kPoison, memory)) << "round " << round;
  }
  Await([this] { return service().owners() == 0; });
}

}  // namespace
}  // namespace capstan::testing

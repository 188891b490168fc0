// The contract of a transport: bytes against docs/wire.md end the connection
// that they came by, cost no memory, and concern nobody else.
#include "testing/status_matchers.h"
#include "testing/transport_contract.h"

namespace capstan::testing {
namespace {

FrameHeader Header(FrameKind kind, uint64_t id) {
  FrameHeader header;
  header.kind = kind;
  header.request_id = id;
  if (kind == FrameKind::kRequest) {
    header.code = static_cast<uint16_t>(kEcho);
    header.timeout_us = 30'000'000;
  }
  return header;
}

// Sends `bytes` after a handshake; expects the end of that connection.
void ExpectMalformed(TransportHarness& harness, const std::string& name,
                     const std::string& bytes) {
  SCOPED_TRACE(name);
  const uint64_t before = harness.counters().malformed;
  const auto peer = harness.NewRawPeer();
  ASSERT_NE(peer, nullptr);
  ASSERT_OK(peer->Send(bytes));
  peer->ReceiveUntilClosed();
  harness.Await([&] { return harness.counters().malformed == before + 1; });
}

TEST_P(TransportContract, OversizedFieldsAreRefused) {
  const auto client = StartAndConnect();
  ExpectEcho(*client);
  for (const uint64_t bytes : {(uint64_t{64} << 30) + 1, uint64_t{1} << 40,
                               uint64_t{1} << 63, UINT64_MAX}) {
    FrameHeader header = Header(FrameKind::kRequest, 1);
    header.attachment_count = 1;
    header.attachment_bytes = bytes;
    ExpectMalformed(*this, "attachment bytes " + std::to_string(bytes),
                    HeaderBytes(header));
  }
  for (const uint32_t bytes :
       {FrameLimits().body_bytes + 1, 1u << 31, UINT32_MAX}) {
    FrameHeader header = Header(FrameKind::kRequest, 1);
    header.body_bytes = bytes;
    ExpectMalformed(*this, "body bytes " + std::to_string(bytes),
                    HeaderBytes(header));
  }
  for (const uint32_t count :
       {FrameLimits().attachment_count + 1, 1u << 31, UINT32_MAX}) {
    FrameHeader header = Header(FrameKind::kRequest, 1);
    header.attachment_count = count;
    ExpectMalformed(*this, "attachment count " + std::to_string(count),
                    HeaderBytes(header));
  }
  EXPECT_EQ(counters().bytes_in_flight, 0u);
  ExpectEcho(*client);
}

// Lengths that the header's limit allows, but the server's memory does not:
// the service is told, and nothing is allocated.
TEST_P(TransportContract, LengthsBeyondTheMemoryAreRefused) {
  StartServer();
  for (const uint64_t bytes :
       {(uint64_t{1} << 31), (uint64_t{1} << 32) - 1, uint64_t{1} << 32,
        (uint64_t{1} << 32) + 1, uint64_t{64} << 30}) {
    const auto peer = NewRawPeer();
    FrameHeader header = Header(FrameKind::kRequest, 1);
    header.attachment_count = 1;
    header.attachment_bytes = bytes;
    std::string table(8, '\0');
    for (size_t i = 0; i < 8; ++i) {
      table[i] = static_cast<char>(bytes >> (8 * i));
    }
    ASSERT_OK(peer->Send(HeaderBytes(header) + table));
    const absl::StatusOr<RawFrame> answer = peer->ReceiveFrame();
    ASSERT_OK(answer);
    EXPECT_EQ(answer->header.kind, FrameKind::kResponse);
    EXPECT_EQ(answer->header.code,
              static_cast<uint16_t>(absl::StatusCode::kResourceExhausted))
        << bytes;
  }
  EXPECT_EQ(counters().malformed, 0u);
}

TEST_P(TransportContract, LengthsThatDoNotAddUpAreRefused) {
  StartServer();
  const auto table = [](const std::vector<uint64_t>& lengths) {
    std::string bytes;
    for (const uint64_t length : lengths) {
      for (size_t i = 0; i < 8; ++i) {
        bytes.push_back(static_cast<char>(length >> (8 * i)));
      }
    }
    return bytes;
  };
  FrameHeader header = Header(FrameKind::kRequest, 1);
  header.attachment_count = 3;
  header.attachment_bytes = 10;
  const std::string head = HeaderBytes(header);
  constexpr uint64_t kHalf = uint64_t{1} << 63;
  ExpectMalformed(*this, "too little", head + table({1, 2, 3}));
  ExpectMalformed(*this, "too much", head + table({5, 5, 1}));
  // Adds up to 10 modulo 2^64.
  ExpectMalformed(*this, "wraps", head + table({kHalf, kHalf, 10}));
  ExpectMalformed(*this, "wraps late", head + table({11, UINT64_MAX, 0}));
}

TEST_P(TransportContract, FramesOutOfPlaceAreRefused) {
  const auto client = StartAndConnect();
  FrameHeader piece = Header(FrameKind::kData, 1);
  piece.attachment_bytes = 10;
  FrameHeader large = Header(FrameKind::kRequest, 1);
  const std::string data(2 * kInlineBytes, 'x');
  const std::string head =
      EncodeHead(large, "", std::vector<Bytes>{AsBytes(data)});
  FrameHeader second = Header(FrameKind::kRequest, 2);
  const std::string head2 =
      EncodeHead(second, "", std::vector<Bytes>{AsBytes(data)});
  FrameHeader beyond = Header(FrameKind::kData, 1);
  beyond.attachment_bytes = 2 * kInlineBytes + 1;
  FrameHeader other = Header(FrameKind::kData, 2);
  other.attachment_bytes = 10;
  ExpectMalformed(*this, "piece without a message",
                  HeaderBytes(piece) + std::string(10, 'x'));
  ExpectMalformed(*this, "piece beyond the message",
                  head + HeaderBytes(beyond));
  ExpectMalformed(*this, "piece of another message",
                  head + HeaderBytes(other) + std::string(10, 'x'));
  ExpectMalformed(*this, "large message inside another", head + head2);
  ExpectMalformed(*this, "abort without a message",
                  HeaderBytes(Header(FrameKind::kAbort, 1)));
  ExpectMalformed(*this, "response",
                  FrameBytes(Header(FrameKind::kResponse, 1)));
  ExpectMalformed(*this, "second hello", HelloFrame(raw_hello()));
  ExpectMalformed(*this, "welcome",
                  HelloFrame(raw_hello(), FrameKind::kWelcome));
  ExpectMalformed(
      *this, "request id used twice",
      RequestFrame(1, kHold, "twice") + RequestFrame(1, kHold, "twice"));
  service().gate("twice").Open();
  ExpectEcho(*client);
  Await([this] { return counters().bytes_in_flight == 0; });
}

TEST_P(TransportContract, EveryFlippedBitOfAHeaderIsRefused) {
  const auto client = StartAndConnect();
  const std::string good = RequestFrame(1, kEcho, "");
  for (size_t bit = 0; bit < 8 * kHeaderBytes; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    ExpectMalformed(*this, "bit " + std::to_string(bit), bad);
  }
  EXPECT_EQ(service().started(), 0);
  ExpectEcho(*client);
}

}  // namespace
}  // namespace capstan::testing

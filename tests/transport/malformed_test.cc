// Bytes that break the rules of docs/wire.md, over a real socket: whatever the
// peer sends, its connection ends, a counter rises, one line of the log names
// it, and the process goes on with everybody else in bounded memory.
#include <sys/resource.h>

#include <string>
#include <vector>

#include "base/crc32c.h"
#include "testing/real_worlds.h"
#include "testing/status_matchers.h"
#include "testing/transport_contract.h"

namespace capstan::testing {
namespace {

using ::testing::HasSubstr;

FrameHeader Header(FrameKind kind, uint64_t id = 0) {
  FrameHeader header;
  header.kind = kind;
  header.request_id = id;
  return header;
}

FrameHeader Request() {
  FrameHeader header = Header(FrameKind::kRequest, 1);
  header.code = static_cast<uint16_t>(kEcho);
  header.timeout_us = 1'000'000;
  return header;
}

// The bytes of `header` with `value` at `offset` and the checksum made right.
std::string Forged(const FrameHeader& header, size_t offset,
                   const std::string& value) {
  std::string bytes = HeaderBytes(header);
  bytes.replace(offset, value.size(), value);
  const uint32_t crc = Crc32c(AsBytes(bytes).first(52));
  for (size_t i = 0; i < 4; ++i) {
    bytes[52 + i] = static_cast<char>(crc >> (8 * i));
  }
  return bytes;
}

template <typename Change>
std::string Changed(FrameHeader header, Change change) {
  change(header);
  return HeaderBytes(header);
}

std::string Table(const std::vector<uint64_t>& lengths) {
  std::string bytes;
  for (const uint64_t length : lengths) {
    for (size_t i = 0; i < 8; ++i) {
      bytes.push_back(static_cast<char>(length >> (8 * i)));
    }
  }
  return bytes;
}

// A request with `bytes` of attachments that come in pieces.
std::string LargeHead(uint64_t bytes) {
  FrameHeader header = Request();
  header.attachment_count = 1;
  header.attachment_bytes = bytes;
  return HeaderBytes(header) + Table({bytes});
}

std::string Piece(uint64_t id, uint64_t announced, size_t sent) {
  FrameHeader header = Header(FrameKind::kData, id);
  header.attachment_bytes = announced;
  return HeaderBytes(header) + std::string(sent, 'p');
}

struct Case {
  const char* name;
  std::string bytes;
  bool greet = true;  // whether a proper hello comes first
};

void PrintTo(const Case& malformed, std::ostream* out) {
  *out << malformed.name;
}

std::vector<Case> HandshakeCases() {
  FrameHeader hello = Header(FrameKind::kHello);
  const std::string garbage(10, '\xff');
  return {
      {"Zeroes", std::string(100, '\0'), false},
      {"Ones", std::string(100, '\xff'), false},
      {"Http", "GET / HTTP/1.1\r\nHost: x\r\n" + std::string(60, ' '), false},
      {"TlsClientHello", "\x16\x03\x01\x02\x00\x01" + std::string(80, 'x'),
       false},
      {"RequestBeforeHello", RequestFrame(1, kEcho, ""), false},
      {"PingBeforeHello", HeaderBytes(Header(FrameKind::kPing)), false},
      {"HelloWithGarbage", FrameBytes(hello, garbage), false},
      {"HelloTooLong",
       Changed(hello, [](FrameHeader& h) { h.body_bytes = 16'385; }), false},
      {"HelloHuge",
       Changed(hello, [](FrameHeader& h) { h.body_bytes = UINT32_MAX; }),
       false},
      {"HelloOfAnotherProtocol", Forged(hello, 4, "\x02"), false},
  };
}

std::vector<Case> HeaderCases() {
  const FrameHeader request = Request();
  const FrameHeader ping = Header(FrameKind::kPing);
  return {
      {"WrongMagic", Forged(request, 0, "SPAC")},
      {"WrongVersion", Forged(request, 4, "\x07")},
      {"KindZero", Forged(request, 5, std::string(1, '\0'))},
      {"KindTwelve", Forged(request, 5, "\x0c")},
      {"KindTooLarge", Forged(request, 5, "\xff")},
      {"ReservedBits", Forged(request, 48, "\x01")},
      {"WrongChecksum", std::string(52, 'C') + "abcd"},
      {"TimeoutZero",
       Changed(request, [](FrameHeader& h) { h.timeout_us = 0; })},
      {"BodyTooLong",
       Changed(request, [](FrameHeader& h) { h.body_bytes = (16 << 20) + 1; })},
      {"BodyHuge",
       Changed(request, [](FrameHeader& h) { h.body_bytes = UINT32_MAX; })},
      {"TooManyAttachments",
       Changed(request, [](FrameHeader& h) { h.attachment_count = 65'537; })},
      {"CountHuge",
       Changed(request,
               [](FrameHeader& h) { h.attachment_count = UINT32_MAX; })},
      {"BytesOverTheLimit", LargeHead((uint64_t{64} << 30) + 1)},
      {"BytesHalfOfAll", LargeHead(uint64_t{1} << 63)},
      {"BytesAll", LargeHead(UINT64_MAX)},
      {"BytesWithoutAttachments",
       Changed(request, [](FrameHeader& h) { h.attachment_bytes = 1; })},
      {"PingWithId", Changed(ping, [](FrameHeader& h) { h.request_id = 1; })},
      {"PingWithBody", Changed(ping, [](FrameHeader& h) { h.body_bytes = 1; })},
      {"CancelWithCode", Changed(Header(FrameKind::kCancel, 1),
                                 [](FrameHeader& h) { h.code = 1; })},
  };
}

std::vector<Case> MessageCases() {
  FrameHeader three = Request();
  three.attachment_count = 3;
  three.attachment_bytes = 10;
  const std::string head = HeaderBytes(three);
  constexpr uint64_t kHalf = uint64_t{1} << 63;
  const std::string large = LargeHead(kInlineBytes + 1);
  return {
      {"LengthsTooSmall", head + Table({1, 2, 3})},
      {"LengthsTooLarge", head + Table({5, 5, 5})},
      {"LengthsWrap", head + Table({kHalf, kHalf, 10})},
      {"LengthsWrapLate", head + Table({3, UINT64_MAX, 8})},
      {"PieceOfNothing", Piece(1, 10, 10)},
      {"PieceEmpty", large + Piece(1, 0, 0)},
      {"PieceTooLarge", LargeHead(4 << 20) + Piece(1, (1 << 20) + 1, 10)},
      {"PieceBeyondTheEnd", large + Piece(1, kInlineBytes + 2, 10)},
      {"PieceOfAnother", large + Piece(2, 10, 10)},
      {"AbortOfNothing", HeaderBytes(Header(FrameKind::kAbort, 1))},
      {"AbortOfAnother", large + HeaderBytes(Header(FrameKind::kAbort, 2))},
      {"SecondLargeMessage",
       large + Forged(three, 24, Table({kInlineBytes + 9}))},
      {"SameIdTwice", RequestFrame(1, kUntilCancelled, "") +
                          RequestFrame(1, kUntilCancelled, "")},
      {"ResponseToAServer", FrameBytes(Header(FrameKind::kResponse, 1))},
      {"SecondHello", HelloFrame(Hello{})},
      {"Welcome", HelloFrame(Hello{}, FrameKind::kWelcome)},
      {"GarbageAfterAFrame",
       RequestFrame(1, kEcho, "") + std::string(kHeaderBytes, 'g')},
  };
}

class MalformedTest : public ::testing::TestWithParam<Case>,
                      public TransportHarness {
 protected:
  MalformedTest() : TransportHarness(MakeTcpWorld()) {}

  // The warnings so far that contain `text`.
  int Warnings(const std::string& text = "") {
    int count = 0;
    for (const LogRecord& record : log().Records()) {
      if (record.level >= LogLevel::kWarning &&
          record.message.find(text) != std::string::npos) {
        ++count;
      }
    }
    return count;
  }
};

TEST_P(MalformedTest, EndsItsConnectionAndNothingElse) {
  StartServer();
  const auto other = NewClient();
  StartedCall held = other->Start({.method = kHold, .body = "held"});
  AwaitHeld("held");
  const auto peer = NewRawPeer(GetParam().greet);
  ASSERT_NE(peer, nullptr);
  ASSERT_OK(peer->Send(GetParam().bytes));
  peer->ReceiveUntilClosed();
  // Only `other` is left. (A connection that the kernel has made is not yet
  // one that the server has accepted, hence the second condition.)
  Await([&] {
    return counters().connections_accepted == 2 &&
           counters().connections_open == 1;
  });
  EXPECT_EQ(counters().malformed, 1u);
  EXPECT_EQ(counters().stalled, 0u);
  // One line, which says who it was.
  EXPECT_EQ(Warnings(), 1) << log().Text();
  EXPECT_EQ(
      Warnings(GetParam().greet ? "worker/9 at 127.0.0.1:" : "127.0.0.1:"), 1)
      << log().Text();
  // Nobody else noticed.
  service().gate("held").Open();
  EXPECT_OK(held.Get());
  EXPECT_OK(other->Call(kEcho, "still here"));
  Await([this] { return counters().bytes_in_flight == 0; });
}

std::string CaseName(const ::testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Handshake, MalformedTest,
                         ::testing::ValuesIn(HandshakeCases()), CaseName);
INSTANTIATE_TEST_SUITE_P(Header, MalformedTest,
                         ::testing::ValuesIn(HeaderCases()), CaseName);
INSTANTIATE_TEST_SUITE_P(Message, MalformedTest,
                         ::testing::ValuesIn(MessageCases()), CaseName);

using MalformedFloodTest = MalformedTest;

// An enemy does not fill the log.
TEST_P(MalformedFloodTest, IsCountedInFullAndLoggedInPart) {
  StartServer();
  constexpr int kPeers = 300;
  for (int i = 0; i < kPeers; ++i) {
    const auto peer = NewRawPeer(/*hello=*/false);
    ASSERT_NE(peer, nullptr);
    ASSERT_OK(peer->Send(GetParam().bytes));
    peer->ReceiveUntilClosed();
  }
  Await([this] { return counters().malformed == kPeers; });
  EXPECT_GE(Warnings(), 1);
  EXPECT_LT(Warnings(), kPeers / 2);
  const auto client = NewClient();
  EXPECT_OK(client->Call(kEcho, "still here"));
}

INSTANTIATE_TEST_SUITE_P(Flood, MalformedFloodTest,
                         ::testing::Values(HandshakeCases().front()), CaseName);

// The most memory that the process has had, in MiB.
int64_t PeakMiB() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

class MalformedMemoryTest : public ::testing::Test, public TransportHarness {
 protected:
  MalformedMemoryTest() : TransportHarness(MakeTcpWorld()) {}
};

// A hundred peers that each announce as much as a frame may, and send nothing
// of it: nothing is allocated for what has not been admitted.
TEST_F(MalformedMemoryTest, AnnouncedBytesCostNothing) {
  ServerOptions options = server_options();
  options.connection_bytes = 1 << 20;
  options.total_bytes = 32 << 20;
  StartServer(options);
  const int64_t before = PeakMiB();
  std::vector<std::unique_ptr<RawPeer>> peers;
  FrameHeader header = Request();
  header.attachment_count = 1'000;
  header.attachment_bytes = uint64_t{64} << 30;
  for (int i = 0; i < 100; ++i) {
    peers.push_back(NewRawPeer());
    ASSERT_OK(peers.back()->Send(HeaderBytes(header)));
    peers.push_back(NewRawPeer());
    ASSERT_OK(peers.back()->Send(LargeHead(uint64_t{64} << 30)));
    FrameHeader body = Request();
    body.body_bytes = 1 << 20;
    peers.push_back(NewRawPeer());
    ASSERT_OK(peers.back()->Send(HeaderBytes(body)));
  }
  const auto client = NewClient();
  // Those that will not send hold what they were admitted with; the others
  // are served as soon as they leave.
  StartedCall call = client->Start({.method = kEcho, .body = "served"});
  peers.clear();
  EXPECT_OK(call.Get());
  EXPECT_LT(PeakMiB() - before, 100);
}

}  // namespace
}  // namespace capstan::testing

// The contract of a transport: services read as much as they like, when they
// like, and their errors reach the caller.
#include "testing/pattern.h"
#include "testing/status_matchers.h"
#include "testing/transport_contract.h"

namespace capstan::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST_P(TransportContract, ErrorsKeepTheirCodeAndMessage) {
  const auto client = StartAndConnect();
  for (int code = 1; code <= 16; ++code) {
    const absl::StatusOr<Reply> reply = client->Call(
        kFail, std::to_string(code) + " reason " + std::to_string(code));
    EXPECT_THAT(reply, StatusIs(static_cast<absl::StatusCode>(code),
                                HasSubstr("reason " + std::to_string(code))));
    EXPECT_EQ(TaskOf(reply.status()), "ps/0");
  }
}

TEST_P(TransportContract, ErrorsOfAnotherTaskNameIt) {
  const auto client = StartAndConnect();
  const absl::StatusOr<Reply> reply =
      client->Call(kFailFor, "ps/5 14 no backup");
  EXPECT_THAT(reply,
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no backup")));
  EXPECT_EQ(TaskOf(reply.status()), "ps/5");
}

TEST_P(TransportContract, ErrorsMayHaveAnyText) {
  const auto client = StartAndConnect();
  EXPECT_THAT(client->Call(kFail, "3 "),
              StatusIs(absl::StatusCode::kInvalidArgument));
  // Neither UTF-8 nor printable.
  EXPECT_THAT(client->Call(kFail, "3 a\xff\xfe\n\x01z"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a\xff\xfe\n\x01z")));
  // Far too long: cut, wherever that falls.
  for (int shift = 0; shift < 3; ++shift) {
    std::string text(static_cast<size_t>(shift), 'a');
    for (int i = 0; i < 20'000; ++i) text += "\u20ac";
    EXPECT_THAT(client->Call(kFail, "3 " + text),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(text.substr(0, 1'000))));
  }
}

TEST_P(TransportContract, UnknownMethodIsNamed) {
  const auto client = StartAndConnect();
  EXPECT_THAT(
      client->Call(kUnknown, ""),
      StatusIs(absl::StatusCode::kUnimplemented,
               HasSubstr(std::to_string(static_cast<uint16_t>(kUnknown)))));
  ExpectEcho(*client);
}

TEST_P(TransportContract, ServerSeesWhoCalls) {
  const auto client = StartAndConnect();
  const absl::StatusOr<Reply> reply = client->Call(kDescribe, "");
  ASSERT_OK(reply);
  EXPECT_THAT(reply->body, StartsWith("worker/3 contract 11 "));
}

TEST_P(TransportContract, ServiceIsToldWhoseConnectionEnds) {
  const auto client = StartAndConnect();
  ExpectEcho(*client);
  // One that never said who it is, and is nobody's.
  NewRawPeer(/*hello=*/false)->Close();
  const std::unique_ptr<RawPeer> raw = NewRawPeer();
  EXPECT_EQ(service().last_disconnected(), 0u);
  raw->Close();
  Await(
      [this] { return service().last_disconnected() == raw_hello().session; });
  ExpectEcho(*client);
  EXPECT_EQ(service().last_disconnected(), raw_hello().session);
}

TEST_P(TransportContract, ServiceReadsNothing) {
  const auto client = StartAndConnect();
  for (const uint64_t size : {kKiB, kInlineBytes + 1, 20 * kMiB}) {
    const std::vector<std::byte> data = Pattern(0, size);
    EXPECT_THAT(client->Call(kFail, "9 not now", {Bytes(data)}),
                StatusIs(absl::StatusCode::kFailedPrecondition));
    EXPECT_OK(client->Call(kTakePart, "0", {Bytes(data)}));
    ExpectEcho(*client);
  }
}

TEST_P(TransportContract, ServiceReadsPart) {
  const auto client = StartAndConnect();
  for (const uint64_t size : {kKiB, kInlineBytes + 1, 20 * kMiB}) {
    const std::vector<std::byte> data = Pattern(5, size);
    for (const uint64_t part : {uint64_t{1}, size / 2, size - 1, size}) {
      const absl::StatusOr<Reply> reply =
          client->Call(kTakePart, std::to_string(part), {Bytes(data)});
      ASSERT_OK(reply);
      EXPECT_EQ(reply->body, Digest(Bytes(data).first(part)));
    }
    ExpectEcho(*client);
  }
}

TEST_P(TransportContract, ServiceReadsInOddPieces) {
  const auto client = StartAndConnect();
  const std::vector<std::byte> small = Pattern(1, 1'000);
  const std::vector<std::byte> large = Pattern(2, 2 * kMiB + 5);
  const std::vector<Bytes> few = {
      Bytes(small).first(1), {}, Bytes(small).subspan(1)};
  const std::vector<Bytes> many = {Bytes(large).first(3),
                                   Bytes(large).subspan(3, kMiB),
                                   {},
                                   Bytes(large).subspan(kMiB + 3)};
  for (const std::string piece : {"1", "7", "999", "1000", "5000"}) {
    const absl::StatusOr<Reply> reply = client->Call(kDigest, piece, few);
    ASSERT_OK(reply);
    EXPECT_EQ(reply->body, Digest(small)) << piece;
  }
  for (const std::string piece :
       {"509", "4096", "65537", "1048576", "1048577", "99999999"}) {
    const absl::StatusOr<Reply> reply = client->Call(kDigest, piece, many);
    ASSERT_OK(reply);
    EXPECT_EQ(reply->body, Digest(large)) << piece;
  }
}

TEST_P(TransportContract, ServiceReadsMoreThanThereIs) {
  const auto client = StartAndConnect();
  for (const uint64_t size : {uint64_t{0}, kKiB, 3 * kMiB}) {
    const std::vector<std::byte> data = Pattern(5, size);
    EXPECT_THAT(
        client->Call(kTakePart, std::to_string(size + 1), {Bytes(data)}),
        StatusIs(absl::StatusCode::kOutOfRange));
    ExpectEcho(*client);
  }
}

TEST_P(TransportContract, AnswerOwnsItsMemoryUntilSent) {
  const auto client = StartAndConnect();
  for (const uint64_t size : {kKiB, 10 * kMiB}) {
    CallOptions options;
    options.reply_limit = size;
    const std::vector<std::byte> data = Pattern(0, size);
    const absl::StatusOr<Reply> reply =
        client->Call(kEcho, "", {Bytes(data)}, options);
    ASSERT_OK(reply);
    EXPECT_TRUE(IsPattern(0, reply->attachments[0]));
    Await([this] { return service().owners() == 0; });
  }
}

TEST_P(TransportContract, RequestsAreCounted) {
  const auto client = StartAndConnect();
  for (int i = 0; i < 3; ++i) ExpectEcho(*client);
  EXPECT_EQ(counters().requests, 3u);
  EXPECT_EQ(counters().connections_accepted, 1u);
  EXPECT_EQ(counters().connections_open, 1u);
  EXPECT_EQ(counters().malformed, 0u);
}

TEST_P(TransportContract, ChannelNamesItsPeer) {
  const auto client = StartAndConnect();
  EXPECT_EQ(client->peer(), "ps/0 at " + address());
}

}  // namespace
}  // namespace capstan::testing

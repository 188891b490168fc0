// The contract of a transport: bodies and attachments of all sizes arrive as
// they were sent.
#include <numeric>

#include "base/random.h"
#include "testing/pattern.h"
#include "testing/status_matchers.h"
#include "testing/transport_contract.h"

namespace capstan::testing {
namespace {

using ::testing::HasSubstr;

// Sends attachments of these sizes and expects them back.
void ExpectEchoOf(TestClient& client, const std::vector<uint64_t>& sizes) {
  std::vector<std::vector<std::byte>> memory;
  std::vector<Bytes> attachments;
  for (const uint64_t size : sizes) {
    memory.push_back(Pattern(memory.size(), size));
  }
  for (const auto& piece : memory) attachments.emplace_back(piece);
  const uint64_t total = TotalSize(attachments);
  const absl::StatusOr<Reply> reply =
      client.Call(kEcho, "sizes", attachments, ReplyUpTo(total));
  ASSERT_OK(reply);
  EXPECT_EQ(reply->body, "sizes");
  ASSERT_EQ(reply->attachments.size(), sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    ASSERT_EQ(reply->attachments[i].size(), sizes[i]) << "attachment " << i;
    ASSERT_TRUE(IsPattern(i, reply->attachments[i])) << "attachment " << i;
  }
}

TEST_P(TransportContract, BodyAndAttachmentsComeBack) {
  const auto client = StartAndConnect();
  ExpectEchoOf(*client, {1, 100, 4096});
}

TEST_P(TransportContract, NothingAtAll) {
  const auto client = StartAndConnect();
  const absl::StatusOr<Reply> reply = client->Call(kEcho, "");
  ASSERT_OK(reply);
  EXPECT_EQ(reply->body, "");
  EXPECT_TRUE(reply->attachments.empty());
}

TEST_P(TransportContract, BodyOfAnyBytes) {
  const auto client = StartAndConnect();
  std::string body;
  for (int i = 0; i < 256; ++i) body.push_back(static_cast<char>(i));
  ExpectEcho(*client, body);
}

TEST_P(TransportContract, BodyOnlyNoAttachments) {
  const auto client = StartAndConnect();
  ExpectEchoOf(*client, {});
}

TEST_P(TransportContract, OneEmptyAttachment) {
  const auto client = StartAndConnect();
  ExpectEchoOf(*client, {0});
}

TEST_P(TransportContract, OnlyEmptyAttachments) {
  const auto client = StartAndConnect();
  ExpectEchoOf(*client, {0, 0, 0, 0, 0});
}

TEST_P(TransportContract, EmptyAttachmentsAmongSmallOnes) {
  const auto client = StartAndConnect();
  ExpectEchoOf(*client, {0, 5, 0, 0, 7, 0});
}

TEST_P(TransportContract, EmptyAttachmentsAmongLargeOnes) {
  const auto client = StartAndConnect();
  ExpectEchoOf(*client, {0, 200 * kKiB, 0, 0, 2 * kMiB, 0, 1, 0});
}

TEST_P(TransportContract, SizesAroundTheInlineLimit) {
  const auto client = StartAndConnect();
  for (const uint64_t size :
       {kInlineBytes - 1, kInlineBytes, kInlineBytes + 1}) {
    ExpectEchoOf(*client, {size});
    ExpectEchoOf(*client, {size / 2, size - size / 2});
  }
}

TEST_P(TransportContract, SizesAroundMultiplesOfAPiece) {
  const auto client = StartAndConnect();
  for (const uint64_t pieces : {1, 2, 3}) {
    const uint64_t size = pieces * kMaxPieceBytes;
    ExpectEchoOf(*client, {size - 1});
    ExpectEchoOf(*client, {size});
    ExpectEchoOf(*client, {size + 1});
  }
}

TEST_P(TransportContract, AThousandSmallAttachments) {
  const auto client = StartAndConnect();
  ExpectEchoOf(*client, std::vector<uint64_t>(1'000, 33));
}

TEST_P(TransportContract, AThousandAttachmentsInPieces) {
  const auto client = StartAndConnect();
  ExpectEchoOf(*client, std::vector<uint64_t>(1'000, 3'001));
}

TEST_P(TransportContract, AsManyAttachmentsAsAllowed) {
  const auto client = StartAndConnect();
  ExpectEchoOf(*client,
               std::vector<uint64_t>(FrameLimits().attachment_count, 2));
}

TEST_P(TransportContract, OneAttachmentTooMany) {
  const auto client = StartAndConnect();
  const std::byte byte{1};
  const std::vector<Bytes> attachments(FrameLimits().attachment_count + 1,
                                       Bytes(&byte, 1));
  EXPECT_THAT(
      client->Call(kEcho, "", attachments, ReplyUpTo(kMiB)),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("attachment")));
  EXPECT_EQ(service().started(), 0);
  EXPECT_EQ(counters().malformed, 0u);
  ExpectEcho(*client);
}

TEST_P(TransportContract, BodyAsLongAsAllowed) {
  const auto client = StartAndConnect();
  const std::string body(FrameLimits().body_bytes, 'b');
  ExpectEcho(*client, body);
}

TEST_P(TransportContract, BodyTooLong) {
  const auto client = StartAndConnect();
  const std::string body(FrameLimits().body_bytes + 1, 'b');
  EXPECT_THAT(client->Call(kEcho, body),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("body")));
  EXPECT_EQ(service().started(), 0);
  EXPECT_EQ(counters().malformed, 0u);
  ExpectEcho(*client);
}

TEST_P(TransportContract, SixtyFourMiB) {
  const auto client = StartAndConnect();
  ExpectEchoOf(*client, {64 * kMiB});
}

TEST_P(TransportContract, BytesKeepTheirOrder) {
  const auto client = StartAndConnect();
  Random random(20'231'115);
  for (int round = 0; round < 20; ++round) {
    std::vector<uint64_t> sizes(1 + random.Below(40));
    for (uint64_t& size : sizes) {
      // Small and large mixed, and a third of them empty.
      size = random.Chance(0.3) ? 0 : random.Below(1u << random.Below(18));
    }
    ExpectEchoOf(*client, sizes);
  }
}

TEST_P(TransportContract, ServerReceivesWhatWasSent) {
  const auto client = StartAndConnect();
  const std::vector<std::byte> data = Pattern(3, 5 * kMiB + 17);
  const absl::StatusOr<Reply> reply =
      client->Call(kDigest, "100000", {Bytes(data)});
  ASSERT_OK(reply);
  EXPECT_EQ(reply->body, Digest(data));
}

// One attachment whose memory is used again and again is sent as often.
TEST_P(TransportContract, TheSameMemoryTwice) {
  const auto client = StartAndConnect();
  const std::vector<std::byte> data = Pattern(0, 100 * kKiB);
  const absl::StatusOr<Reply> reply = client->Call(
      kEcho, "", {Bytes(data), Bytes(data)}, ReplyUpTo(2 * data.size()));
  ASSERT_OK(reply);
  ASSERT_EQ(reply->attachments.size(), 2u);
  EXPECT_TRUE(IsPattern(0, reply->attachments[0]));
  EXPECT_TRUE(IsPattern(0, reply->attachments[1]));
}

}  // namespace
}  // namespace capstan::testing

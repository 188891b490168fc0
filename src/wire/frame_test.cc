#include "wire/frame.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "base/crc32c.h"
#include "rapidcheck/gtest.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::capstan::testing::IsOkAndHolds;
using ::capstan::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Raw = std::array<std::byte, kHeaderBytes>;

Raw Encode(const FrameHeader& header) {
  Raw raw{};
  EncodeHeader(header, raw);
  return raw;
}

absl::StatusOr<FrameHeader> Decode(const Raw& raw,
                                   const FrameLimits& limits = {}) {
  return DecodeHeader(raw, limits);
}

// Changes a byte and corrects the checksum, as an attacker would.
Raw WithByte(Raw raw, size_t at, uint8_t value) {
  raw[at] = static_cast<std::byte>(value);
  const uint32_t crc = Crc32c(Bytes(raw).first(52));
  for (size_t i = 0; i < 4; ++i) {
    raw[52 + i] = static_cast<std::byte>(crc >> (8 * i));
  }
  return raw;
}

FrameHeader OfKind(FrameKind kind) {
  FrameHeader header;
  header.kind = kind;
  return header;
}

FrameHeader Request() {
  FrameHeader header = OfKind(FrameKind::kRequest);
  header.code = 3;
  header.request_id = 0x1122334455667788;
  header.timeout_us = 5'000'000;
  header.reply_limit = 1 << 20;
  header.body_bytes = 12;
  header.attachment_count = 2;
  header.attachment_bytes = 8'192;
  return header;
}

FrameHeader Piece(uint64_t bytes) {
  FrameHeader header = OfKind(FrameKind::kData);
  header.request_id = 1;
  header.attachment_bytes = bytes;
  return header;
}

// Any header that a correct program may send.
rc::Gen<FrameHeader> AnyHeader() {
  return rc::gen::exec([] {
    FrameHeader header =
        OfKind(static_cast<FrameKind>(*rc::gen::inRange<int>(1, 12)));
    const FrameLimits limits;
    const bool request = header.kind == FrameKind::kRequest;
    const bool response = header.kind == FrameKind::kResponse;
    if (request || response || header.kind == FrameKind::kHello ||
        header.kind == FrameKind::kWelcome ||
        header.kind == FrameKind::kRefuse) {
      header.body_bytes = *rc::gen::inRange<uint32_t>(0, 16 << 10);
    }
    if (request || response || header.kind == FrameKind::kData ||
        header.kind == FrameKind::kAbort || header.kind == FrameKind::kCancel) {
      header.request_id = *rc::gen::inRange<uint64_t>(1, UINT64_MAX);
    }
    if (request || response) {
      header.attachment_count =
          *rc::gen::inRange<uint32_t>(0, limits.attachment_count + 1);
      if (header.attachment_count > 0) {
        header.attachment_bytes =
            *rc::gen::inRange<uint64_t>(0, limits.attachment_bytes + 1);
      }
    }
    if (request) {
      header.code = *rc::gen::arbitrary<uint16_t>();
      header.timeout_us = *rc::gen::inRange<uint64_t>(1, UINT64_MAX);
      header.reply_limit = *rc::gen::arbitrary<uint64_t>();
    }
    if (response && header.attachment_count == 0) {
      header.code = *rc::gen::inRange<uint16_t>(0, 17);
    }
    if (header.kind == FrameKind::kRefuse) {
      header.code = *rc::gen::inRange<uint16_t>(1, 17);
    }
    if (header.kind == FrameKind::kData) {
      header.attachment_bytes =
          *rc::gen::inRange<uint64_t>(1, kMaxPieceBytes + 1);
    }
    return header;
  });
}

RC_GTEST_PROP(FrameTest, HeadersSurviveTheTrip, ()) {
  const FrameHeader header = *AnyHeader();
  const absl::StatusOr<FrameHeader> decoded = Decode(Encode(header));
  RC_ASSERT(decoded.ok());
  RC_ASSERT(*decoded == header);
}

// A 32-bit CRC detects every error of up to three bits in 56 bytes.
RC_GTEST_PROP(FrameTest, AnyFlippedBitIsFound, ()) {
  Raw raw = Encode(*AnyHeader());
  const auto bit = *rc::gen::inRange<size_t>(0, 8 * kHeaderBytes);
  raw[bit / 8] ^= static_cast<std::byte>(1 << (bit % 8));
  RC_ASSERT(!Decode(raw).ok());
}

// For any input, decoding ends with a value or an error, and an accepted value
// encodes to the same bytes.
RC_GTEST_PROP(FrameTest, AnyBytesAreDecodedOrRefused, ()) {
  Raw raw = Encode(*AnyHeader());
  const auto at = *rc::gen::inRange<size_t>(4, 52);
  raw = WithByte(raw, at, *rc::gen::arbitrary<uint8_t>());
  const absl::StatusOr<FrameHeader> decoded = Decode(raw);
  if (decoded.ok()) RC_ASSERT(Encode(*decoded) == raw);
}

TEST(FrameTest, EverySingleFlippedBitOfAHeaderIsFound) {
  for (const FrameHeader& header :
       {Request(), Piece(kMaxPieceBytes), OfKind(FrameKind::kPing)}) {
    const Raw good = Encode(header);
    ASSERT_THAT(Decode(good), IsOkAndHolds(header));
    for (size_t bit = 0; bit < 8 * kHeaderBytes; ++bit) {
      Raw bad = good;
      bad[bit / 8] ^= static_cast<std::byte>(1 << (bit % 8));
      EXPECT_THAT(Decode(bad), StatusIs(absl::StatusCode::kInvalidArgument))
          << ToString(header) << ", bit " << bit;
    }
  }
}

// The format is fixed to the byte, because other programs and later versions
// read it.
TEST(FrameTest, LayoutOfAHeader) {
  const Raw raw = Encode(Request());
  const std::string_view text = AsText(raw);
  EXPECT_EQ(text.substr(0, 4), "CAPS");
  EXPECT_EQ(text.substr(4, 4), std::string_view("\1\4\3\0", 4));
  EXPECT_EQ(text.substr(8, 8), "\x88\x77\x66\x55\x44\x33\x22\x11");
  EXPECT_EQ(text.substr(16, 8), std::string_view("\x40\x4b\x4c\0\0\0\0\0", 8));
  EXPECT_EQ(text.substr(24, 8), std::string_view("\0\x20\0\0\0\0\0\0", 8));
  EXPECT_EQ(text.substr(32, 8), std::string_view("\0\0\x10\0\0\0\0\0", 8));
  EXPECT_EQ(text.substr(40, 4), std::string_view("\x0c\0\0\0", 4));
  EXPECT_EQ(text.substr(44, 4), std::string_view("\2\0\0\0", 4));
  EXPECT_EQ(text.substr(48, 4), std::string_view("\0\0\0\0", 4));
}

TEST(FrameTest, ErrorsNameTheFieldAndItsValue) {
  EXPECT_THAT(Decode(Raw{}), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("magic 0x00000000")));
  const Raw good = Encode(Request());
  EXPECT_THAT(Decode(WithByte(good, 4, 9)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("version 9"), HasSubstr("1"))));
  EXPECT_THAT(
      Decode(WithByte(good, 5, 77)),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("kind 77")));
  EXPECT_THAT(
      Decode(WithByte(good, 5, 0)),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("kind 0")));
  EXPECT_THAT(Decode(WithByte(good, 49, 1)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("reserved"), HasSubstr("256"))));
  Raw checksum = good;
  checksum[52] ^= std::byte{1};
  EXPECT_THAT(Decode(checksum), StatusIs(absl::StatusCode::kInvalidArgument,
                                         HasSubstr("checksum")));
}

TEST(FrameTest, LimitsAreInclusive) {
  FrameLimits limits;
  limits.body_bytes = 100;
  limits.attachment_count = 5;
  limits.attachment_bytes = 1'000;
  FrameHeader header = Request();
  header.body_bytes = 100;
  header.attachment_count = 5;
  header.attachment_bytes = 1'000;
  EXPECT_THAT(Decode(Encode(header), limits), IsOkAndHolds(header));
  FrameHeader bad = header;
  bad.body_bytes = 101;
  EXPECT_THAT(Decode(Encode(bad), limits),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("body bytes = 101"), HasSubstr("100"))));
  bad = header;
  bad.attachment_count = 6;
  EXPECT_THAT(Decode(Encode(bad), limits),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("attachment count = 6")));
  bad = header;
  bad.attachment_bytes = 1'001;
  EXPECT_THAT(Decode(Encode(bad), limits),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("attachment bytes = 1001")));
}

TEST(FrameTest, HandshakesAndPiecesHaveLimitsOfTheirOwn) {
  FrameHeader hello = OfKind(FrameKind::kHello);
  hello.body_bytes = 16 << 10;
  EXPECT_OK(Decode(Encode(hello)));
  ++hello.body_bytes;
  EXPECT_THAT(Decode(Encode(hello)),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_OK(Decode(Encode(Piece(1))));
  EXPECT_OK(Decode(Encode(Piece(kMaxPieceBytes))));
  EXPECT_THAT(Decode(Encode(Piece(0))),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Decode(Encode(Piece(kMaxPieceBytes + 1))),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(FrameTest, FieldsThatAKindDoesNotHaveMustBeZero) {
  for (uint8_t kind = 1; kind <= 11; ++kind) {
    FrameHeader header = OfKind(static_cast<FrameKind>(kind));
    const bool call = header.kind == FrameKind::kRequest ||
                      header.kind == FrameKind::kResponse;
    if (call) continue;
    FrameHeader bad = header;
    bad.timeout_us = 1;
    EXPECT_FALSE(Decode(Encode(bad)).ok()) << ToString(header);
    bad = header;
    bad.reply_limit = 1;
    EXPECT_FALSE(Decode(Encode(bad)).ok()) << ToString(header);
    bad = header;
    bad.attachment_count = 1;
    EXPECT_FALSE(Decode(Encode(bad)).ok()) << ToString(header);
  }
  FrameHeader response = OfKind(FrameKind::kResponse);
  response.request_id = 1;
  response.timeout_us = 1;
  EXPECT_THAT(
      Decode(Encode(response)),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("timeout = 1")));
}

TEST(FrameTest, ValuesThatMakeNoSense) {
  FrameHeader request = Request();
  request.timeout_us = 0;
  EXPECT_THAT(
      Decode(Encode(request)),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("deadline")));
  request = Request();
  request.attachment_count = 0;
  EXPECT_FALSE(Decode(Encode(request)).ok());
  FrameHeader response = OfKind(FrameKind::kResponse);
  response.request_id = 1;
  response.code = 17;
  EXPECT_THAT(
      Decode(Encode(response)),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("code = 17")));
  EXPECT_THAT(Decode(Encode(OfKind(FrameKind::kRefuse))),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

RC_GTEST_PROP(FrameTest, HeadsSurviveTheTrip, (const std::string& body)) {
  const auto sizes =
      *rc::gen::container<std::vector<size_t>>(rc::gen::inRange<size_t>(0, 99));
  const std::string memory(100, 'm');
  std::vector<Bytes> attachments;
  for (const size_t size : sizes) {
    attachments.push_back(AsBytes(memory).first(size));
  }
  FrameHeader header = Request();
  const std::string head = EncodeHead(header, body, attachments);
  Raw raw;
  std::memcpy(raw.data(), head.data(), raw.size());
  const absl::StatusOr<FrameHeader> decoded = Decode(raw);
  RC_ASSERT(decoded.ok());
  RC_ASSERT(decoded->body_bytes == body.size());
  RC_ASSERT(decoded->attachment_count == sizes.size());
  RC_ASSERT(PrefixBytes(*decoded) == head.size() - kHeaderBytes);
  const size_t table = 8 * sizes.size();
  const absl::StatusOr<std::vector<uint64_t>> lengths =
      DecodeLengths(*decoded, AsBytes(head).subspan(kHeaderBytes, table));
  RC_ASSERT(lengths.ok());
  RC_ASSERT(std::vector<size_t>(lengths->begin(), lengths->end()) == sizes);
  RC_ASSERT(head.substr(kHeaderBytes + table) == body);
}

// A table of these lengths under a header that announces `total` bytes.
absl::StatusOr<std::vector<uint64_t>> Lengths(
    const std::vector<uint64_t>& lengths, uint64_t total) {
  std::vector<std::byte> table;
  for (const uint64_t length : lengths) {
    for (size_t i = 0; i < 8; ++i) {
      table.push_back(static_cast<std::byte>(length >> (8 * i)));
    }
  }
  FrameHeader header = Request();
  header.attachment_count = static_cast<uint32_t>(lengths.size());
  header.attachment_bytes = total;
  return DecodeLengths(header, table);
}

TEST(FrameTest, LengthsMustAddUp) {
  EXPECT_THAT(Lengths({}, 0), IsOkAndHolds(ElementsAre()));
  EXPECT_THAT(Lengths({0, 7, 3}, 10), IsOkAndHolds(ElementsAre(0, 7, 3)));
  EXPECT_THAT(Lengths({0, 7, 2}, 10),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("9"), HasSubstr("10"))));
  EXPECT_THAT(Lengths({0, 7, 4}, 10),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(FrameTest, LengthsMustNotWrap) {
  constexpr uint64_t kHalf = uint64_t{1} << 63;
  EXPECT_FALSE(Lengths({kHalf, kHalf, 10}, 10).ok());
  EXPECT_FALSE(Lengths({11, UINT64_MAX, 0}, 10).ok());
  EXPECT_FALSE(Lengths({UINT64_MAX, UINT64_MAX}, UINT64_MAX - 1).ok());
  EXPECT_FALSE(Lengths({UINT64_MAX, 1}, 0).ok());
}

TEST(FrameTest, InlineUpToSixtyFourKiB) {
  FrameHeader header = Request();
  header.attachment_bytes = kInlineBytes;
  EXPECT_TRUE(IsInline(header));
  ++header.attachment_bytes;
  EXPECT_FALSE(IsInline(header));
}

TEST(FrameTest, PrefixBytesDoNotWrap) {
  FrameHeader header = Request();
  header.attachment_count = UINT32_MAX;
  header.body_bytes = UINT32_MAX;
  EXPECT_EQ(PrefixBytes(header), uint64_t{9} * UINT32_MAX);
}

TEST(FrameTest, ToStringShowsTheFieldsOfTheKind) {
  EXPECT_EQ(ToString(OfKind(FrameKind::kPing)), "Ping");
  EXPECT_EQ(ToString(Piece(77)), "Data id=1 bytes=77");
  EXPECT_THAT(
      ToString(Request()),
      AllOf(HasSubstr("Request id=1234605616436508552"), HasSubstr("code=3"),
            HasSubstr("body=12"), HasSubstr("attachments=2"),
            HasSubstr("bytes=8192"), HasSubstr("timeout_us=5000000")));
  EXPECT_EQ(ToString(OfKind(static_cast<FrameKind>(99))), "Unknown");
}

}  // namespace
}  // namespace capstan

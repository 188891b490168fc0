#include "telemetry/proto_writer.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>

namespace capstan {
namespace {

std::string Bytes(std::initializer_list<int> values) {
  std::string bytes;
  for (const int value : values) bytes.push_back(static_cast<char>(value));
  return bytes;
}

// The two examples from the specification.
TEST(ProtoWriterTest, AsInTheSpecification) {
  EXPECT_EQ(ProtoWriter().Varint(1, 150).bytes(), Bytes({0x08, 0x96, 0x01}));
  EXPECT_EQ(ProtoWriter().Text(2, "testing").bytes(),
            Bytes({0x12, 0x07}) + "testing");
  EXPECT_EQ(ProtoWriter().Message(3, ProtoWriter().Varint(1, 150)).bytes(),
            Bytes({0x1a, 0x03, 0x08, 0x96, 0x01}));
}

TEST(ProtoWriterTest, Varints) {
  EXPECT_EQ(ProtoWriter().Varint(1, 0).bytes(), Bytes({0x08, 0x00}));
  EXPECT_EQ(ProtoWriter().Varint(1, 127).bytes(), Bytes({0x08, 0x7f}));
  EXPECT_EQ(ProtoWriter().Varint(1, 128).bytes(), Bytes({0x08, 0x80, 0x01}));
  EXPECT_EQ(ProtoWriter().Varint(1, -1).bytes(),
            Bytes({0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                   0x01}));
  EXPECT_EQ(
      ProtoWriter().Varint(1, std::numeric_limits<int64_t>::min()).bytes(),
      Bytes({0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1}));
  // A field number above 15 takes a second byte.
  EXPECT_EQ(ProtoWriter().Varint(16, 1).bytes(), Bytes({0x80, 0x01, 0x01}));
}

TEST(ProtoWriterTest, Floats) {
  EXPECT_EQ(ProtoWriter().Double(1, 1.5).bytes(),
            Bytes({0x09, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f}));
  EXPECT_EQ(ProtoWriter().Float(2, -2).bytes(), Bytes({0x15, 0, 0, 0, 0xc0}));
  EXPECT_EQ(
      ProtoWriter().PackedDoubles(6, std::array{1.5, 0.0}).bytes(),
      Bytes({0x32, 16, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(ProtoWriter().PackedDoubles(6, {}).bytes(), Bytes({0x32, 0}));
}

TEST(ProtoWriterTest, LongText) {
  const std::string text(300, 'x');
  EXPECT_EQ(ProtoWriter().Text(1, text).bytes(),
            Bytes({0x0a, 0xac, 0x02}) + text);
}

}  // namespace
}  // namespace capstan

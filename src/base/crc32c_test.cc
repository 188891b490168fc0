#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "rapidcheck/gtest.h"

namespace capstan {
namespace {

// The oracle: bit by bit, from the definition.
uint32_t SlowCrc32c(Bytes data) {
  uint32_t crc = ~uint32_t{0};
  for (std::byte byte : data) {
    crc ^= static_cast<uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1u) != 0 ? 0x82f63b78u : 0u);
    }
  }
  return ~crc;
}

TEST(Crc32cTest, CheckValue) {
  EXPECT_EQ(Crc32c(AsBytes("123456789")), 0xe3069283u);
  EXPECT_EQ(MaskCrc32c(0xe3069283u), 0xc78ab0e5u);
}

TEST(Crc32cTest, NothingIsZero) {
  EXPECT_EQ(Crc32c({}), 0u);
  EXPECT_EQ(ExtendCrc32c(0x12345678u, {}), 0x12345678u);
}

// RFC 3720, B.4.
TEST(Crc32cTest, Rfc3720Vectors) {
  std::array<std::byte, 32> data;
  data.fill(std::byte{0});
  EXPECT_EQ(Crc32c(data), 0x8a9136aau);
  data.fill(std::byte{0xff});
  EXPECT_EQ(Crc32c(data), 0x62a8ab43u);
  for (size_t i = 0; i < data.size(); ++i) data[i] = std::byte(i);
  EXPECT_EQ(Crc32c(data), 0x46dd794eu);
  std::reverse(data.begin(), data.end());
  EXPECT_EQ(Crc32c(data), 0x113fdb5cu);

  std::array<std::byte, 48> read_command{};
  read_command[0] = std::byte{0x01};
  read_command[1] = std::byte{0xc0};
  read_command[16] = std::byte{0x14};
  read_command[22] = std::byte{0x04};
  read_command[27] = std::byte{0x14};
  read_command[31] = std::byte{0x18};
  read_command[32] = std::byte{0x28};
  read_command[40] = std::byte{0x02};
  EXPECT_EQ(Crc32c(read_command), 0xd9963a56u);
}

// Every length around the sizes at which ISA-L switches methods, and every
// alignment, against the oracle.
TEST(Crc32cTest, AgreesWithTheDefinitionAtAllLengthsAndAlignments) {
  std::vector<std::byte> data(640);
  for (size_t i = 0; i < data.size(); ++i) data[i] = std::byte(i * 37 + 11);
  const Bytes all(data);
  for (size_t start = 0; start < 16; ++start) {
    for (size_t length = 0; length <= 600; ++length) {
      const Bytes part = all.subspan(start, length);
      ASSERT_EQ(Crc32c(part), SlowCrc32c(part)) << start << " " << length;
    }
  }
}

TEST(Crc32cTest, EveryFlippedBitIsFound) {
  std::string text = "the bytes of a small frame header, say";
  const uint32_t good = Crc32c(AsBytes(text));
  for (char& c : text) {
    for (int bit = 0; bit < 8; ++bit) {
      const char before = c;
      c = static_cast<char>(c ^ (1 << bit));
      EXPECT_NE(Crc32c(AsBytes(text)), good);
      c = before;
    }
  }
}

RC_GTEST_PROP(Crc32cProperty, ExtendIsConcatenation,
              (const std::string& a, const std::string& b)) {
  RC_ASSERT(ExtendCrc32c(Crc32c(AsBytes(a)), AsBytes(b)) ==
            Crc32c(AsBytes(a + b)));
}

RC_GTEST_PROP(Crc32cProperty, UnmaskUndoesMask, (uint32_t crc)) {
  RC_ASSERT(UnmaskCrc32c(MaskCrc32c(crc)) == crc);
  RC_ASSERT(MaskCrc32c(crc) != crc);
}

}  // namespace
}  // namespace capstan

#include "checkpoint/tensor_file/hex_text.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

TEST(HexTextTest, RoundTrip) {
  EXPECT_EQ(Hex32(0x1a2b), "00001a2b");
  EXPECT_EQ(Hex64(UINT64_MAX), "ffffffffffffffff");
  EXPECT_EQ(ParseHex32("00001a2b"), 0x1a2bu);
  EXPECT_EQ(ParseHex64("ffffffffffffffff"), UINT64_MAX);
}

TEST(HexTextTest, OneTextOnly) {
  for (const char* text : {"", "1a2b", "00001A2B", "0000001a2b", "0x001a2b",
                           "0000 a2b", "0000ga2b", "+0001a2b", "0000`a2b"}) {
    EXPECT_FALSE(ParseHex32(text)) << text;
  }
  EXPECT_FALSE(ParseHex64("00001a2b"));
}

}  // namespace
}  // namespace capstan

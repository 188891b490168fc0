#include "transport/tls/tls_buffer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace capstan {
namespace {

TEST(TlsBufferTest, BytesComeOutAsTheyWentIn) {
  TlsBuffer buffer;
  std::string expected;
  for (int i = 0; i < 1'000; ++i) {
    const std::string text = std::to_string(i);
    buffer.Append(AsBytes(text));
    expected += text;
    if (i % 3 == 0) {
      const size_t count = buffer.size() / 2;
      EXPECT_EQ(AsText(buffer.bytes().first(count)), expected.substr(0, count));
      buffer.Consume(count);
      expected.erase(0, count);
    }
  }
  EXPECT_EQ(AsText(buffer.bytes()), expected);
}

TEST(TlsBufferTest, PrepareKeepsWhatWaits) {
  TlsBuffer buffer;
  buffer.Append(AsBytes("abc"));
  buffer.Consume(1);
  const MutableBytes space = buffer.Prepare(1'000);
  ASSERT_GE(space.size(), 1'000u);
  std::memcpy(space.data(), "de", 2);
  buffer.Commit(2);
  EXPECT_EQ(AsText(buffer.bytes()), "bcde");
}

TEST(TlsBufferTest, TrimGivesMemoryBackOnlyWhenEmpty) {
  TlsBuffer buffer;
  buffer.Prepare(10'000);
  buffer.Append(AsBytes("abc"));
  buffer.Trim(0);
  EXPECT_EQ(AsText(buffer.bytes()), "abc");
  buffer.Consume(3);
  buffer.Trim(20'000);
  EXPECT_EQ(buffer.Prepare(1).size(), 10'000u);
  buffer.Trim(5'000);
  EXPECT_EQ(buffer.Prepare(1).size(), 1u);
}

}  // namespace
}  // namespace capstan

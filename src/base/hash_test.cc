#include "base/hash.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "rapidcheck/gtest.h"

namespace capstan {
namespace {

// From the reference implementation; must never change, since hashes are
// printed, stored and compared between builds.
TEST(HashTest, ReferenceValues) {
  EXPECT_EQ(Hash64(""), 0x2d06800538d394c2u);
  EXPECT_EQ(Hash64("a"), 0xe6c632b61e964e1fu);
  EXPECT_EQ(Hash64("abc"), 0x78af5f94892f3950u);
}

TEST(HashTest, SeedMatters) {
  EXPECT_EQ(Hash64("abc", 0), Hash64("abc"));
  EXPECT_NE(Hash64("abc", 1), Hash64("abc"));
}

TEST(HasherTest, NothingAddedIsTheHashOfNothing) {
  EXPECT_EQ(Hasher().Digest(), Hash64(""));
  EXPECT_EQ(Hasher(9).Digest(), Hash64("", 9));
}

TEST(HasherTest, IntegersAreEightLittleEndianBytes) {
  Hasher hasher;
  hasher.Add(uint64_t{0x0807060504030201});
  EXPECT_EQ(hasher.Digest(), Hash64("\x01\x02\x03\x04\x05\x06\x07\x08"));
}

TEST(HasherTest, TextsDoNotRunIntoEachOther) {
  Hasher one;
  one.Add("ab");
  one.Add("c");
  Hasher two;
  two.Add("a");
  two.Add("bc");
  EXPECT_NE(one.Digest(), two.Digest());
  two.Add("");
  Hasher three;
  three.Add("a");
  three.Add("bc");
  EXPECT_NE(two.Digest(), three.Digest());
}

TEST(HasherTest, DigestDoesNotDisturb) {
  Hasher one;
  one.Add("x");
  EXPECT_EQ(one.Digest(), one.Digest());
  one.Add("y");
  Hasher two;
  two.Add("x");
  two.Add("y");
  EXPECT_EQ(one.Digest(), two.Digest());
}

TEST(HasherTest, MoveKeepsTheState) {
  Hasher one;
  one.Add("x");
  const uint64_t digest = one.Digest();
  Hasher two(std::move(one));
  EXPECT_EQ(two.Digest(), digest);
  Hasher three;
  three = std::move(two);
  EXPECT_EQ(three.Digest(), digest);
}

RC_GTEST_PROP(HasherProperty, RawPiecesAreOneText,
              (const std::vector<std::string>& pieces, uint64_t seed)) {
  Hasher hasher(seed);
  std::string all;
  for (const std::string& piece : pieces) {
    // Repeated so that the streaming code's internal buffer fills up.
    for (int i = 0; i < 20; ++i) {
      hasher.AddRaw(AsBytes(piece));
      all += piece;
    }
  }
  RC_ASSERT(hasher.Digest() == Hash64(all, seed));
}

}  // namespace
}  // namespace capstan

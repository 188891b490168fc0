#include "cli/nearest_word.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace capstan {
namespace {

TEST(EditDistanceTest, CountsEdits) {
  EXPECT_EQ(EditDistance("", ""), 0u);
  EXPECT_EQ(EditDistance("run", "run"), 0u);
  EXPECT_EQ(EditDistance("", "run"), 3u);
  EXPECT_EQ(EditDistance("run", ""), 3u);
  EXPECT_EQ(EditDistance("verson", "version"), 1u);
  EXPECT_EQ(EditDistance("versiion", "version"), 1u);
  EXPECT_EQ(EditDistance("versian", "version"), 1u);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
}

TEST(EditDistanceTest, ASwapIsOneEdit) {
  EXPECT_EQ(EditDistance("rnu", "run"), 1u);
  EXPECT_EQ(EditDistance("sevrer", "server"), 1u);
  EXPECT_EQ(EditDistance("ca", "abc"), 3u);
}

TEST(NearestWordTest, FindsTheNearest) {
  const std::vector<std::string> known = {"run", "server", "status", "version"};
  EXPECT_EQ(NearestWord("verson", known), "version");
  EXPECT_EQ(NearestWord("rnu", known), "run");
  EXPECT_EQ(NearestWord("sttus", known), "status");
  EXPECT_EQ(NearestWord("sevre", known), "server");
}

TEST(NearestWordTest, AnotherWordIsNoMisspelling) {
  const std::vector<std::string> known = {"run", "version"};
  EXPECT_EQ(NearestWord("train", known), "");
  EXPECT_EQ(NearestWord("ran2", known), "");
  EXPECT_EQ(NearestWord("", known), "");
  EXPECT_EQ(NearestWord(std::string(100'000, 'x'), known), "");
  EXPECT_EQ(NearestWord("run", {}), "");
}

}  // namespace
}  // namespace capstan

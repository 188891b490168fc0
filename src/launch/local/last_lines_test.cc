#include "launch/local/last_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LastLinesTest, KeepsAllWhileTheyAreFew) {
  LastLines last;
  EXPECT_THAT(last.lines(), IsEmpty());
  last.Add("a");
  last.Add("");
  EXPECT_THAT(last.lines(), ElementsAre("a", ""));
}

TEST(LastLinesTest, DropsTheOldest) {
  LastLines last;
  for (int i = 1; i <= 31; ++i) last.Add(std::to_string(i));
  EXPECT_EQ(last.lines().size(), 30u);
  EXPECT_EQ(last.lines().front(), "2");
  EXPECT_EQ(last.lines().back(), "31");
}

TEST(LastLinesTest, CutsLongLines) {
  LastLines last;
  last.Add(std::string(2000, 'x'));
  last.Add(std::string(2001, 'y'));
  std::string cut(2000, 'y');
  cut += "...";
  EXPECT_THAT(last.lines(), ElementsAre(std::string(2000, 'x'), cut));
}

}  // namespace
}  // namespace capstan

#include "launch/system/date_text.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

TEST(DateTextTest, IsTheDayInUtc) {
  EXPECT_EQ(DateText(WallTime(std::chrono::seconds(1'700'000'000))),
            "2023-11-14");
  EXPECT_EQ(DateText(WallTime(std::chrono::seconds(0))), "1970-01-01");
}

}  // namespace
}  // namespace capstan

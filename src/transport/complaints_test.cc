#include "transport/complaints.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace capstan {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(ComplaintsTest, FirstOfEachCauseAtOnceAndThenASummary) {
  Complaints complaints;
  EXPECT_EQ(complaints.Add("no token", seconds(0)), 0u);
  EXPECT_EQ(complaints.Add("other job", seconds(0)), 0u);
  // Four per second, for half a minute.
  for (int i = 1; i < 120; ++i) {
    EXPECT_EQ(complaints.Add("no token", i * milliseconds(250)), std::nullopt);
  }
  EXPECT_EQ(complaints.Add("no token", seconds(30)), 119u);
  EXPECT_EQ(complaints.Add("other job", seconds(31)), 0u);
}

TEST(ComplaintsTest, CausesMadeUpAllTheTimeCountAsOne) {
  Complaints complaints;
  int said = 0;
  for (int i = 0; i < 10'000; ++i) {
    said += complaints.Add(std::to_string(i), milliseconds(i)).has_value();
  }
  EXPECT_EQ(said, static_cast<int>(Complaints::kCauses) + 1);
}

TEST(ComplaintsTest, OldCausesMakeRoom) {
  Complaints complaints;
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_EQ(complaints.Add(std::to_string(i), seconds(2 * i)), 0u) << i;
  }
}

}  // namespace
}  // namespace capstan

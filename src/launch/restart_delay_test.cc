#include "launch/restart_delay.h"

#include <gtest/gtest.h>

#include <chrono>
#include <climits>

namespace capstan {
namespace {

using std::chrono::milliseconds;

TEST(RestartDelayTest, DoublesUpToALimit) {
  EXPECT_EQ(RestartDelay(0), milliseconds(0));
  EXPECT_EQ(RestartDelay(1), milliseconds(0));
  EXPECT_EQ(RestartDelay(2), milliseconds(500));
  EXPECT_EQ(RestartDelay(3), milliseconds(1'000));
  EXPECT_EQ(RestartDelay(4), milliseconds(2'000));
  EXPECT_EQ(RestartDelay(5), milliseconds(4'000));
  EXPECT_EQ(RestartDelay(6), milliseconds(8'000));
  EXPECT_EQ(RestartDelay(7), milliseconds(10'000));
  EXPECT_EQ(RestartDelay(INT_MAX), milliseconds(10'000));
}

}  // namespace
}  // namespace capstan

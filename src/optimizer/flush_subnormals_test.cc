#include "optimizer/flush_subnormals.h"

#include <gtest/gtest.h>

#include <limits>

namespace capstan {
namespace {

// Volatile, so that the arithmetic happens at run time, at this point.
float Half(float number) {
  volatile float x = number;
  volatile float half = 0.5f;
  return x * half;
}

TEST(FlushSubnormalsTest, OnlyWhileItLives) {
  const float smallest = std::numeric_limits<float>::min();
  EXPECT_GT(Half(smallest), 0);
  {
    const FlushSubnormals flush;
    EXPECT_EQ(Half(smallest), 0);
    EXPECT_EQ(Half(2 * smallest), smallest);
  }
  EXPECT_GT(Half(smallest), 0);
}

}  // namespace
}  // namespace capstan

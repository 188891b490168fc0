#include "variable/fans.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

TEST(FansTest, AreThoseOfKeras) {
  const auto check = [](const Shape& shape, double in, double out) {
    EXPECT_EQ(FansOf(shape).in, in) << shape.ToString();
    EXPECT_EQ(FansOf(shape).out, out) << shape.ToString();
  };
  check({}, 1, 1);
  check({7}, 7, 7);
  check({3, 5}, 3, 5);
  check({3, 3, 16, 32}, 9 * 16, 9 * 32);  // a convolution kernel
  check({2, 3, 4}, 6, 8);
  check({0, 5}, 0, 5);
}

}  // namespace
}  // namespace capstan

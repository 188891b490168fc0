#include "variable/orthogonal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

namespace capstan {
namespace {

// The largest deviation of A'A (tall) or AA' (wide) from the identity matrix.
double ErrorOf(const std::vector<double>& a, size_t rows, size_t columns) {
  const bool tall = rows >= columns;
  const size_t count = tall ? columns : rows;
  const size_t size = tall ? rows : columns;
  const auto at = [&](size_t vector, size_t i) {
    return tall ? a[i * columns + vector] : a[vector * columns + i];
  };
  double error = 0;
  for (size_t j = 0; j < count; ++j) {
    for (size_t k = 0; k <= j; ++k) {
      double dot = 0;
      for (size_t i = 0; i < size; ++i) dot += at(j, i) * at(k, i);
      error = std::max(error, std::abs(dot - (j == k ? 1 : 0)));
    }
  }
  return error;
}

TEST(OrthogonalTest, IsOrthonormal) {
  for (const auto& [rows, columns] :
       std::vector<std::pair<size_t, size_t>>{{1, 1},
                                              {1, 5},
                                              {5, 1},
                                              {2, 2},
                                              {64, 64},
                                              {100, 7},
                                              {7, 100},
                                              {200, 199}}) {
    const auto matrix = RandomOrthogonal(rows, columns, 3);
    ASSERT_EQ(matrix.size(), rows * columns);
    // The rounding error of a sum of products that add up to at most 1.
    EXPECT_LT(ErrorOf(matrix, rows, columns), 1e-14) << rows << "x" << columns;
  }
}

TEST(OrthogonalTest, EmptyMatricesAreEmpty) {
  EXPECT_TRUE(RandomOrthogonal(0, 5, 1).empty());
  EXPECT_TRUE(RandomOrthogonal(5, 0, 1).empty());
}

TEST(OrthogonalTest, DependsOnTheSeed) {
  EXPECT_EQ(RandomOrthogonal(8, 8, 1), RandomOrthogonal(8, 8, 1));
  EXPECT_NE(RandomOrthogonal(8, 8, 1), RandomOrthogonal(8, 8, 2));
}

TEST(OrthogonalTest, SignsAreEven) {
  // A Haar matrix has no preferred direction: about half of 400 first entries
  // are positive, with five standard errors (10 each) of tolerance.
  int positive = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    if (RandomOrthogonal(3, 3, seed)[0] > 0) ++positive;
  }
  EXPECT_NEAR(positive, 200, 50);
}

}  // namespace
}  // namespace capstan

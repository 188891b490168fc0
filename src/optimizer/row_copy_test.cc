#include "optimizer/row_copy.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace capstan {
namespace {

TEST(RowCopyTest, GathersAndScattersEveryRowSize) {
  const std::vector<uint32_t> rows = {5, 0, 9, 2, 7};
  for (size_t size = 1; size <= 40; ++size) {
    std::vector<float> table(10 * size);
    std::iota(table.begin(), table.end(), 0.0f);
    // All rows but the last; nothing beyond may be touched.
    std::vector<float> out(rows.size() * size, -1);
    GatherRows(table.data(), rows, 4, size, out.data());
    for (size_t i = 0; i < rows.size(); ++i) {
      for (size_t j = 0; j < size; ++j) {
        const float expected = i < 4 ? table[rows[i] * size + j] : -1;
        ASSERT_EQ(out[i * size + j], expected) << size;
      }
    }
    std::vector<float> copy(table.size(), -2);
    ScatterRows(out.data(), std::span(rows).first(4), size, copy.data());
    for (size_t row = 0; row < 10; ++row) {
      const bool written = row == 5 || row == 0 || row == 9 || row == 2;
      for (size_t j = 0; j < size; ++j) {
        ASSERT_EQ(copy[row * size + j], written ? table[row * size + j] : -2.0f)
            << size;
      }
    }
  }
}

TEST(RowCopyTest, NoRowsIsNothing) {
  GatherRows(nullptr, {}, 0, 3, nullptr);
  ScatterRows(nullptr, {}, 3, nullptr);
}

}  // namespace
}  // namespace capstan

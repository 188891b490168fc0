#include "server/shard/sum_rows.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "base/random.h"

namespace capstan {
namespace {

const std::byte* DataOf(const auto& values) {
  return std::as_bytes(std::span(values)).data();
}

TEST(SumRowsTest, NothingIsNothing) {
  EXPECT_TRUE(SumRows({}, 3).rows.empty());
  const RowGradients empty;
  EXPECT_TRUE(SumRows(std::span(&empty, 1), 3).values.empty());
}

TEST(SumRowsTest, AddsUpEqualRowsInTheOrderOfAppearance) {
  const std::vector<uint32_t> rows = {7, 2, 7, 0};
  const std::vector<float> values = {1, 2, 10, 20, 100, 200, 5, 6};
  const RowGradients batch = {.rows = rows, .values = DataOf(values)};
  const RowSums sums = SumRows(std::span(&batch, 1), 2);
  EXPECT_EQ(sums.rows, (std::vector<uint32_t>{7, 2, 0}));
  EXPECT_EQ(sums.values, (std::vector<float>{101, 202, 10, 20, 5, 6}));
}

TEST(SumRowsTest, BatchesHaveTheirOwnTypesAndScales) {
  const std::vector<uint32_t> first = {1, 3};
  const std::vector<uint32_t> second = {3};
  const std::vector<uint32_t> third = {1};
  const std::vector<float> f32 = {1, 2};
  const std::vector<Float16> f16 = {Float16(4)};
  const std::vector<BFloat16> bf16 = {BFloat16(8)};
  const std::vector<RowGradients> batches = {
      {.rows = first, .values = DataOf(f32), .scale = 0.5},
      {.rows = second, .dtype = DType::kF16, .values = DataOf(f16)},
      {.rows = third,
       .dtype = DType::kBF16,
       .values = DataOf(bf16),
       .scale = -1}};
  const RowSums sums = SumRows(batches, 1);
  EXPECT_EQ(sums.rows, (std::vector<uint32_t>{1, 3}));
  EXPECT_EQ(sums.values, (std::vector<float>{-7.5, 5}));
}

TEST(SumRowsTest, IsTheSumInTheOrderGiven) {
  Random random(3);
  constexpr size_t kRow = 19;
  std::vector<std::vector<uint32_t>> rows(5);
  std::vector<std::vector<float>> values(5);
  std::vector<RowGradients> batches;
  std::map<uint32_t, std::vector<float>> expected;
  for (size_t b = 0; b < 5; ++b) {
    for (int i = 0; i < 50; ++i) {
      rows[b].push_back(static_cast<uint32_t>(random.Between(0, 30)));
      std::vector<float>& sum = expected[rows[b].back()];
      sum.resize(kRow);
      for (size_t k = 0; k < kRow; ++k) {
        values[b].push_back(
            static_cast<float>(random.Between(-1'000'000, 1'000'000)) * 1e-3f);
        sum[k] += values[b].back();
      }
    }
    batches.push_back({.rows = rows[b], .values = DataOf(values[b])});
  }
  const RowSums sums = SumRows(batches, kRow);
  ASSERT_EQ(sums.rows.size(), expected.size());
  for (size_t i = 0; i < sums.rows.size(); ++i) {
    for (size_t k = 0; k < kRow; ++k) {
      // Bit by bit: floats are not associative.
      EXPECT_EQ(sums.values[i * kRow + k], expected[sums.rows[i]][k]);
    }
  }
}

}  // namespace
}  // namespace capstan

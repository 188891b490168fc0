#include "variable/stored_bytes.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

TEST(StoredBytesTest, CountsTheSlots) {
  VariableSpec spec{.name = "w", .shape = {10, 3}};
  EXPECT_EQ(StoredRowBytes(spec), 12u);
  spec.optimizer = Sgd{};
  EXPECT_EQ(StoredRowBytes(spec), 12u);
  spec.optimizer = Adagrad{};
  EXPECT_EQ(StoredRowBytes(spec), 24u);
  spec.optimizer = Adam{};
  EXPECT_EQ(StoredRowBytes(spec), 36u);
  spec.optimizer.reset();
  spec.dtype = DType::kI64;
  EXPECT_EQ(StoredRowBytes(spec), 24u);
  spec.shape = {};
  EXPECT_EQ(StoredRowBytes(spec), 8u);
}

TEST(StoredBytesTest, SumsStopAtTheLargestNumber) {
  EXPECT_EQ(SaturatingAdd(1, 2), 3u);
  EXPECT_EQ(SaturatingAdd(UINT64_MAX, 1), UINT64_MAX);
  EXPECT_EQ(SaturatingMultiply(3, 4), 12u);
  EXPECT_EQ(SaturatingMultiply(uint64_t{1} << 63, 2), UINT64_MAX);
  VariableSpec spec{.name = "w", .shape = {1, Shape::kMaxElements}};
  spec.optimizer = Adam{.amsgrad = true};
  EXPECT_GE(StoredRowBytes(spec), uint64_t{Shape::kMaxElements} * 4);
}

}  // namespace
}  // namespace capstan

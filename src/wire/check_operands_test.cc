#include "wire/check_operands.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

TEST(CheckOperandsTest, DivisionOfIntegersByZeroIsRefused) {
  const std::vector<int32_t> ints = {1, -1, 0};
  EXPECT_THAT(CheckOperands(DType::kI32, Operation::kDiv,
                            std::as_bytes(std::span(ints))),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("by 0 at element 2")));
  EXPECT_OK(CheckOperands(DType::kI32, Operation::kMul,
                          std::as_bytes(std::span(ints))));
  const std::vector<int64_t> longs = {0};
  EXPECT_THAT(CheckOperands(DType::kI64, Operation::kDiv,
                            std::as_bytes(std::span(longs))),
              StatusIs(absl::StatusCode::kInvalidArgument));
  const std::vector<uint8_t> bytes = {3, 0};
  EXPECT_THAT(
      CheckOperands(DType::kU8, Operation::kDiv,
                    std::as_bytes(std::span(bytes))),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("element 1")));
  const std::vector<float> floats = {0};
  EXPECT_OK(CheckOperands(DType::kF32, Operation::kDiv,
                          std::as_bytes(std::span(floats))));
}

TEST(CheckOperandsTest, BoolsAreOnlySet) {
  const std::vector<uint8_t> good = {0, 1, 1};
  const std::vector<uint8_t> bad = {0, 2};
  EXPECT_OK(CheckOperands(DType::kBool, Operation::kSet,
                          std::as_bytes(std::span(good))));
  EXPECT_THAT(CheckOperands(DType::kBool, Operation::kSet,
                            std::as_bytes(std::span(bad))),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("neither 0 nor 1 at element 1")));
  for (const Operation operation :
       {Operation::kAdd, Operation::kSub, Operation::kMul, Operation::kDiv,
        Operation::kMin, Operation::kMax}) {
    EXPECT_THAT(
        CheckOperands(DType::kBool, operation, std::as_bytes(std::span(good))),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 HasSubstr("bools can be set")));
  }
}

TEST(CheckOperandsTest, AGradientIsTheOptimizers) {
  EXPECT_THAT(CheckOperands(DType::kF32, Operation::kGradient, {}),
              StatusIs(absl::StatusCode::kInternal));
}

}  // namespace
}  // namespace capstan

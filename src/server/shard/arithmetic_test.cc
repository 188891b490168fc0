#include "server/shard/arithmetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "testing/status_matchers.h"
#include "wire/check_operands.h"

namespace capstan {
namespace {

constexpr Operation kArithmetic[] = {Operation::kAdd, Operation::kSub,
                                     Operation::kMul, Operation::kDiv,
                                     Operation::kMin, Operation::kMax};

// Integers as if of unlimited width, truncated to T; 16-bit floats via float.
template <typename T>
T Oracle(Operation operation, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    const auto x = static_cast<__int128>(a);
    const auto y = static_cast<__int128>(b);
    switch (operation) {
      case Operation::kAdd:
        return static_cast<T>(x + y);
      case Operation::kSub:
        return static_cast<T>(x - y);
      case Operation::kMul:
        return static_cast<T>(x * y);
      case Operation::kDiv:
        return static_cast<T>(x / y);
      case Operation::kMin:
        return std::min(a, b);
      case Operation::kMax:
        return std::max(a, b);
      default:
        return b;
    }
  } else if constexpr (std::is_floating_point_v<T>) {
    switch (operation) {
      case Operation::kAdd:
        return a + b;
      case Operation::kSub:
        return a - b;
      case Operation::kMul:
        return a * b;
      case Operation::kDiv:
        return a / b;
      case Operation::kMin:
        return b < a ? b : a;
      case Operation::kMax:
        return a < b ? b : a;
      default:
        return b;
    }
  } else {
    return T(
        Oracle<float>(operation, static_cast<float>(a), static_cast<float>(b)));
  }
}

template <typename T>
double ToDouble(T value) {
  if constexpr (std::is_same_v<T, double>) return value;
  return static_cast<float>(value);
}

template <typename T>
std::vector<T> Samples() {
  std::vector<T> samples;
  if constexpr (std::is_integral_v<T>) {
    for (const int i : {0, 1, 2, 3, 7, 100}) samples.push_back(T(i));
    if constexpr (std::is_signed_v<T>) {
      for (const int i : {-1, -2, -7, -100}) samples.push_back(T(i));
    }
    samples.push_back(std::numeric_limits<T>::max());
    samples.push_back(std::numeric_limits<T>::min());
    samples.push_back(T(std::numeric_limits<T>::max() - 1));
  } else {
    for (const float f :
         {0.0f, -0.0f, 1.0f, -1.0f, 0.5f, 3.0f, -7.25f, 1e4f, 6e4f, 1e-6f,
          1e30f, std::numeric_limits<float>::infinity()}) {
      samples.push_back(T(f));
    }
  }
  return samples;
}

template <typename T>
class ArithmeticTest : public ::testing::Test {};
using Types = ::testing::Types<float, double, Float16, BFloat16, int32_t,
                               int64_t, uint8_t>;
TYPED_TEST_SUITE(ArithmeticTest, Types);

TYPED_TEST(ArithmeticTest, IsThatOfTheOracle) {
  using T = TypeParam;
  std::vector<T> a;
  std::vector<T> b;
  for (const T x : Samples<T>()) {
    for (const T y : Samples<T>()) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  for (const Operation operation : kArithmetic) {
    std::vector<T> from = b;
    if (std::is_integral_v<T> && operation == Operation::kDiv) {
      for (T& value : from) {
        if (std::memcmp(&value, std::vector<T>(1).data(), sizeof(T)) == 0) {
          value = T(1);
        }
      }
    }
    ASSERT_OK(
        CheckOperands(DTypeOf<T>(), operation, std::as_bytes(std::span(from))));
    std::vector<T> expected;
    for (size_t i = 0; i < a.size(); ++i) {
      expected.push_back(Oracle<T>(operation, a[i], from[i]));
    }
    // At any alignment.
    for (const size_t shift : {0, 1}) {
      std::vector<std::byte> in(from.size() * sizeof(T) + shift);
      std::vector<std::byte> out(a.size() * sizeof(T) + shift);
      std::memcpy(in.data() + shift, from.data(), from.size() * sizeof(T));
      std::memcpy(out.data() + shift, a.data(), a.size() * sizeof(T));
      ApplyOperation(DTypeOf<T>(), operation, a.size(), in.data() + shift,
                     out.data() + shift);
      for (size_t i = 0; i < a.size(); ++i) {
        T got;
        std::memcpy(&got, out.data() + shift + i * sizeof(T), sizeof(T));
        if constexpr (std::is_integral_v<T>) {
          EXPECT_EQ(got, expected[i]) << OperationName(operation) << " " << i;
        } else {
          const double x = ToDouble(got);
          const double y = ToDouble(expected[i]);
          EXPECT_TRUE(x == y || (std::isnan(x) && std::isnan(y)))
              << OperationName(operation) << " " << i << ": " << x << ", " << y;
        }
      }
    }
  }
}

TYPED_TEST(ArithmeticTest, SetCopies) {
  using T = TypeParam;
  const std::vector<T> from = Samples<T>();
  std::vector<T> into(from.size());
  ApplyOperation(DTypeOf<T>(), Operation::kSet, from.size(),
                 std::as_bytes(std::span(from)).data(),
                 std::as_writable_bytes(std::span(into)).data());
  EXPECT_EQ(std::memcmp(from.data(), into.data(), from.size() * sizeof(T)), 0);
  ApplyOperation(DTypeOf<T>(), Operation::kSet, 0, nullptr, nullptr);
}

template <typename T>
T Apply(Operation operation, T a, T b) {
  ApplyOperation(DTypeOf<T>(), operation, 1,
                 reinterpret_cast<const std::byte*>(&b),
                 reinterpret_cast<std::byte*>(&a));
  return a;
}

TEST(ArithmeticTest, IntegersWrap) {
  EXPECT_EQ(Apply<int32_t>(Operation::kAdd, INT32_MAX, 1), INT32_MIN);
  EXPECT_EQ(Apply<int32_t>(Operation::kSub, INT32_MIN, 1), INT32_MAX);
  EXPECT_EQ(Apply<int32_t>(Operation::kMul, INT32_MIN, -1), INT32_MIN);
  EXPECT_EQ(Apply<int32_t>(Operation::kDiv, INT32_MIN, -1), INT32_MIN);
  EXPECT_EQ(Apply<int64_t>(Operation::kAdd, INT64_MAX, 1), INT64_MIN);
  EXPECT_EQ(Apply<int64_t>(Operation::kMul, INT64_MAX, 2), -2);
  EXPECT_EQ(Apply<int64_t>(Operation::kDiv, INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(Apply<uint8_t>(Operation::kAdd, 250, 10), 4);
  EXPECT_EQ(Apply<uint8_t>(Operation::kSub, 1, 2), 255);
  EXPECT_EQ(Apply<uint8_t>(Operation::kMul, 16, 17), 16);
  EXPECT_EQ(Apply<uint8_t>(Operation::kDiv, 255, 2), 127);
}

}  // namespace
}  // namespace capstan

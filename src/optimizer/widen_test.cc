#include "optimizer/widen.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "optimizer/rule_test.h"

namespace capstan {
namespace {

using testing::ForEachTarget;

// All 65,536 halves, compared with the scalar conversion.
template <typename Half>
void ExpectAllAreConverted() {
  std::vector<std::byte> bytes(65'536 * sizeof(Half));
  std::vector<uint32_t> expected(65'536);
  for (uint32_t bits = 0; bits < 65'536; ++bits) {
    Half half;
    half.bits = static_cast<uint16_t>(bits);
    std::memcpy(bytes.data() + bits * sizeof(Half), &half, sizeof(Half));
    expected[bits] = std::bit_cast<uint32_t>(static_cast<float>(half));
  }
  ForEachTarget([&](const std::string&) {
    std::vector<float> out(65'536);
    Widen(DTypeOf<Half>(), bytes.data(), out.size(), out.data());
    for (uint32_t bits = 0; bits < 65'536; ++bits) {
      ASSERT_EQ(std::bit_cast<uint32_t>(out[bits]), expected[bits]) << bits;
    }
  });
}

TEST(WidenTest, EveryFloat16AsTheScalarConversion) {
  ExpectAllAreConverted<Float16>();
}

TEST(WidenTest, EveryBFloat16AsTheScalarConversion) {
  ExpectAllAreConverted<BFloat16>();
}

TEST(WidenTest, AnySizeAtAnyAddressAndNothingAround) {
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (size_t size = 0; size <= 70; ++size) {
      for (size_t offset = 0; offset < 5; ++offset) {
        std::vector<float> values(size);
        for (size_t i = 0; i < size; ++i) values[i] = static_cast<float>(i);
        std::vector<std::byte> bytes = testing::Encode(dtype, values);
        bytes.insert(bytes.begin(), offset, std::byte{0});
        std::vector<float> out(size + 2, -1);
        Widen(dtype, bytes.data() + offset, size, out.data() + 1);
        EXPECT_EQ(out.front(), -1);
        EXPECT_EQ(out.back(), -1);
        for (size_t i = 0; i < size; ++i) ASSERT_EQ(out[i + 1], values[i]);
      }
    }
  }
}

}  // namespace
}  // namespace capstan

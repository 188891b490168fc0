#include "optimizer/find_nonfinite.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "optimizer/rule_test.h"

namespace capstan {
namespace {

using testing::ForEachTarget;

// `size` elements with the given bits, at an odd address.
template <typename T>
class Elements {
 public:
  Elements(size_t size, T bits) : bytes_(1 + size * sizeof(T)) {
    for (size_t i = 0; i < size; ++i) Set(i, bits);
  }
  void Set(size_t index, T bits) {
    std::memcpy(bytes_.data() + 1 + index * sizeof(T), &bits, sizeof(T));
  }
  Bytes bytes() const { return Bytes(bytes_).subspan(1); }

 private:
  std::vector<std::byte> bytes_;
};

struct Patterns {
  std::vector<uint64_t> finite;
  std::vector<uint64_t> nonfinite;
};

template <typename T>
void ExpectFinds(DType dtype, const Patterns& patterns) {
  for (size_t size = 0; size <= 300; size += size < 70 ? 1 : 23) {
    for (uint64_t finite : patterns.finite) {
      Elements<T> elements(size, static_cast<T>(finite));
      ASSERT_EQ(FindNonFinite(dtype, elements.bytes()), std::nullopt) << size;
      for (uint64_t bad : patterns.nonfinite) {
        // Backwards, so that the newest is the first.
        for (size_t i = size; i-- > 0;) {
          elements.Set(i, static_cast<T>(bad));
          ASSERT_EQ(FindNonFinite(dtype, elements.bytes()), i) << size;
          if (i + 1 < size) elements.Set(i + 1, static_cast<T>(finite));
        }
        if (size > 0) elements.Set(0, static_cast<T>(finite));
      }
    }
  }
}

TEST(FindNonFiniteTest, F32) {
  ForEachTarget([](const std::string&) {
    ExpectFinds<uint32_t>(
        DType::kF32,
        {.finite = {0, 0x7f7f'ffff, 0xff7f'ffff, 0x807f'ffff},
         .nonfinite = {0x7f80'0000, 0xff80'0000, 0x7fc0'0000, 0xff80'0001}});
  });
}

TEST(FindNonFiniteTest, F16) {
  ForEachTarget([](const std::string&) {
    ExpectFinds<uint16_t>(DType::kF16,
                          {.finite = {0, 0x7bff, 0xfbff, 0x83ff},
                           .nonfinite = {0x7c00, 0xfc00, 0x7e00, 0xfc01}});
  });
}

TEST(FindNonFiniteTest, BF16) {
  ForEachTarget([](const std::string&) {
    ExpectFinds<uint16_t>(DType::kBF16,
                          {.finite = {0, 0x7f7f, 0xff7f, 0x807f},
                           .nonfinite = {0x7f80, 0xff80, 0x7fc0, 0xff81}});
  });
}

TEST(FindNonFiniteTest, F64) {
  ForEachTarget([](const std::string&) {
    ExpectFinds<uint64_t>(
        DType::kF64,
        {.finite = {0, 0x7fef'ffff'ffff'ffff, 0xffef'ffff'ffff'ffff},
         .nonfinite = {0x7ff0'0000'0000'0000, 0xfff0'0000'0000'0000,
                       0x7ff0'0000'0000'0001}});
  });
}

TEST(FindNonFiniteTest, TheFirstOfMany) {
  std::vector<float> values(1000, 1);
  for (size_t i = 500; i < 900; ++i) {
    values[i] = std::numeric_limits<float>::infinity();
  }
  EXPECT_EQ(FindNonFinite(DType::kF32, std::as_bytes(std::span(values))), 500u);
}

TEST(FindNonFiniteTest, IntegersAreFinite) {
  const std::vector<std::byte> ones(64, std::byte{0xff});
  for (DType dtype : {DType::kI32, DType::kI64, DType::kU8}) {
    EXPECT_EQ(FindNonFinite(dtype, ones), std::nullopt);
  }
  EXPECT_EQ(FindNonFinite(DType::kBool, {}), std::nullopt);
}

}  // namespace
}  // namespace capstan

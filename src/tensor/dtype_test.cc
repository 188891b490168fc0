#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace capstan {
namespace {

// The codes are on the wire and in checkpoints: lines may be added to this
// test, but the existing ones must never change.
TEST(DTypeTest, CodesNamesAndSizesAreFixed) {
  struct Row {
    DType dtype;
    int code;
    std::string_view name;
    size_t size;
  };
  const Row rows[] = {
      {DType::kF32, 1, "f32", 4}, {DType::kF64, 2, "f64", 8},
      {DType::kF16, 3, "f16", 2}, {DType::kBF16, 4, "bf16", 2},
      {DType::kI32, 5, "i32", 4}, {DType::kI64, 6, "i64", 8},
      {DType::kU8, 7, "u8", 1},   {DType::kBool, 8, "bool", 1},
  };
  ASSERT_EQ(std::size(rows), kAllDTypes.size());
  for (const Row& row : rows) {
    EXPECT_EQ(CodeOf(row.dtype), row.code);
    EXPECT_EQ(NameOf(row.dtype), row.name);
    EXPECT_EQ(SizeOf(row.dtype), row.size);
  }
}

template <Element T>
void ExpectFits() {
  EXPECT_EQ(SizeOf(DTypeOf<T>()), sizeof(T));
  // CheckValues uses the size as the alignment.
  EXPECT_EQ(SizeOf(DTypeOf<T>()), alignof(T));
  static_assert(std::is_trivially_copyable_v<T>);
}

TEST(DTypeTest, CppTypesHaveTheSizeOfTheirDType) {
  ExpectFits<float>();
  ExpectFits<double>();
  ExpectFits<Float16>();
  ExpectFits<BFloat16>();
  ExpectFits<int32_t>();
  ExpectFits<int64_t>();
  ExpectFits<uint8_t>();
  ExpectFits<bool>();
  static_assert(DTypeOf<BFloat16>() == DType::kBF16);
  static_assert(!Element<uint16_t> && !Element<char> && !Element<const float>);
}

TEST(DTypeTest, NamesAndCodesAreReadBack) {
  std::set<std::string_view> names;
  for (DType dtype : kAllDTypes) {
    EXPECT_EQ(ParseDType(NameOf(dtype)).value(), dtype);
    EXPECT_EQ(DTypeFromCode(CodeOf(dtype)).value(), dtype);
    names.insert(NameOf(dtype));
  }
  EXPECT_EQ(names.size(), kAllDTypes.size());
}

TEST(DTypeTest, OtherCodesAreRefused) {
  for (uint64_t code = 0; code < 70'000; ++code) {
    bool known = code >= 1 && code <= kAllDTypes.size();
    ASSERT_EQ(DTypeFromCode(code).ok(), known) << code;
  }
  // Codes that become f32 when narrowed to 8, 16 or 32 bits.
  for (uint64_t code : {0x1'01ull, 0x1'0001ull, 0x1'0000'0001ull, ~0ull}) {
    EXPECT_EQ(DTypeFromCode(code).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(DTypeTest, OtherNamesAreRefusedWithTheNamesThereAre) {
  for (std::string_view name : {"", "F32", "f3", "f320", " f32", "invalid"}) {
    EXPECT_FALSE(ParseDType(name).ok()) << name;
  }
  EXPECT_EQ(ParseDType("float").status().message(),
            "unknown element type \"float\"; known are f32, f64, f16, bf16, "
            "i32, i64, u8, bool");
  std::string huge(1 << 20, 'x');
  EXPECT_LT(ParseDType(huge).status().message().size(), 200u);
}

TEST(DTypeTest, ANumberThatIsNoTypeHasNoSize) {
  EXPECT_EQ(SizeOf(static_cast<DType>(0)), 0u);
  EXPECT_EQ(SizeOf(static_cast<DType>(200)), 0u);
  EXPECT_EQ(NameOf(static_cast<DType>(9)), "invalid");
}

}  // namespace
}  // namespace capstan

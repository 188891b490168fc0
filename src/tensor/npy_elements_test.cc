#include "tensor/npy_elements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace capstan {
namespace {

// The tensor of a file with this header and these elements.
Tensor Decoded(const std::string& descr, const std::string& shape,
               std::string_view elements, const std::string& fortran) {
  const std::string dict = "{'descr': '" + descr +
                           "', 'fortran_order': " + fortran +
                           ", 'shape': " + shape + ", }";
  std::string text = "\x93NUMPY";
  text += {'\1', '\0', static_cast<char>(dict.size()), '\0'};
  const absl::StatusOr<NpyHeader> header = ParseNpyHeader(text + dict);
  if (!header.ok()) {
    ADD_FAILURE() << header.status();
    return {};
  }
  EXPECT_EQ(StoredBytes(*header), elements.size());
  absl::StatusOr<Buffer> stored =
      Buffer::Allocate(elements.size(), Fill::kNone);
  const Bytes bytes = AsBytes(elements);
  std::copy(bytes.begin(), bytes.end(), stored->data());
  absl::StatusOr<Tensor> tensor = MakeNpyTensor(*header, *std::move(stored));
  if (!tensor.ok()) {
    ADD_FAILURE() << tensor.status();
    return {};
  }
  return *std::move(tensor);
}

template <Element T>
void ExpectValues(const std::string& descr, std::string_view elements,
                  const std::vector<T>& expected) {
  const std::string shape = "(" + std::to_string(expected.size()) + ",)";
  const Tensor tensor = Decoded(descr, shape, elements, "False");
  ASSERT_EQ(tensor.dtype(), DTypeOf<T>()) << descr;
  const auto values = tensor.Values<T>();
  EXPECT_THAT(std::vector<T>(values.begin(), values.end()),
              ::testing::ElementsAreArray(expected))
      << descr;
}

// The bytes are those of numpy.array([...], dtype).tobytes().
TEST(NpyElementsTest, TypesOfOtherWidthsAreWidened) {
  ExpectValues<int32_t>("|i1", "\x7f\x80", {127, -128});
  ExpectValues<int32_t>("<i2", "\xfe\xff\xff\x7f", {-2, 32767});
  ExpectValues<int32_t>(">i2", "\xff\xfe\x7f\xff", {-2, 32767});
  ExpectValues<int32_t>("<u2", {"\xff\xff\x01\x00", 4}, {65535, 1});
  ExpectValues<int32_t>(">u2", {"\xff\xff\x00\x01", 4}, {65535, 1});
  ExpectValues<int64_t>("<u4", "\xfe\xff\xff\xff", {4294967294});
  ExpectValues<int64_t>(">u4", {"\x00\x01\xe2\x40", 4}, {123456});
}

TEST(NpyElementsTest, BytesAreSwapped) {
  ExpectValues<float>(">f4", {"\x3f\x80\x00\x00\xc0\x20\x00\x00", 8},
                      {1, -2.5});
  ExpectValues<double>(">f8", {"\x3f\xf8\x00\x00\x00\x00\x00\x00", 8}, {1.5});
  ExpectValues<int32_t>(">i4", "\xff\xff\xff\xfe", {-2});
  ExpectValues<int64_t>(">i8", {"\x00\x00\x00\x01\x00\x00\x00\x02", 8},
                        {4294967298});
  ExpectValues<uint8_t>(">u1", "\x01\x02", {1, 2});
  const Tensor half = Decoded(">f2", "(1,)", {"\x3e\x00", 2}, "False");
  EXPECT_EQ(static_cast<float>(half.Values<Float16>()[0]), 1.5f);
}

TEST(NpyElementsTest, NativeOrderIsLittleEndian) {
  ExpectValues<int32_t>("=i4", {"\x05\0\0\0", 4}, {5});
}

// Element [i, j, k] of numpy.arange(24).reshape(2, 3, 4, order='F') is i + 2 j
// + 6 k, for every element size.
TEST(NpyElementsTest, FortranOrderBecomesCOrder) {
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t j = 0; j < 3; ++j) {
      for (int64_t k = 0; k < 4; ++k) rows.push_back(i + 2 * j + 6 * k);
    }
  }
  const std::string shape = "(2, 3, 4)";
  for (const size_t size : {1u, 2u, 4u, 8u}) {
    std::string elements;
    for (char n = 0; n < 24; ++n) {
      elements.push_back(n);
      elements.append(size - 1, '\0');
    }
    const char kind = size == 1 ? 'u' : 'i';
    const Tensor tensor =
        Decoded(std::string("<") + kind + std::to_string(size), shape, elements,
                "True");
    ASSERT_EQ(tensor.shape(), Shape({2, 3, 4}));
    const Bytes bytes = tensor.view().bytes();
    const size_t held = SizeOf(tensor.dtype());
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(std::to_integer<int64_t>(bytes[i * held]), rows[i])
          << size << " at " << i;
    }
  }
}

TEST(NpyElementsTest, FortranOrderWithAxesOfNoneOrOne) {
  EXPECT_EQ(Decoded("|u1", "(2, 0, 3)", "", "True").shape(), Shape({2, 0, 3}));
  EXPECT_EQ(Decoded("|u1", "()", "\5", "True"), Tensor::Scalar(uint8_t{5}));
  EXPECT_EQ(Decoded("|u1", "(1, 3, 1)", "\5\6\7", "True"),
            Tensor::FromValues<uint8_t>({1, 3, 1}, {5, 6, 7}));
  EXPECT_EQ(Decoded(">u2", "(2, 2)", {"\0\1\0\2\0\3\0\4", 8}, "True"),
            Tensor::FromValues<int32_t>({2, 2}, {1, 3, 2, 4}));
}

}  // namespace
}  // namespace capstan

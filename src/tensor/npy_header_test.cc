#include "tensor/npy_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace capstan {
namespace {

using ::testing::HasSubstr;

std::string Header(std::string_view dict, char version = 1) {
  std::string text = "\x93NUMPY";
  text += {version, '\0', static_cast<char>(dict.size() & 0xff),
           static_cast<char>(dict.size() >> 8)};
  if (version > 1) text.append(2, '\0');
  return text.append(dict);
}

std::string Dict(const std::string& descr, const std::string& shape,
                 const std::string& fortran = "False") {
  return "{'descr': " + descr + ", 'fortran_order': " + fortran +
         ", 'shape': " + shape + ", }";
}

std::string Refused(std::string_view start) {
  const absl::StatusOr<NpyHeader> header = ParseNpyHeader(start);
  if (header.ok()) return "nothing";
  return std::string(header.status().message());
}

absl::StatusCode CodeOf(std::string_view start) {
  return ParseNpyHeader(start).status().code();
}

TEST(NpyHeaderTest, WhatIsEncodedIsParsed) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kI32,
                            DType::kI64, DType::kU8, DType::kBool}) {
    for (const Shape& shape :
         {Shape(), Shape({0}), Shape({3}), Shape({1, 0, 7}),
          Shape({1, 2, 3, 4, 5, 6, 7, 8}), Shape({int64_t{1} << 40, 2})}) {
      const std::string text = EncodeNpyHeader(dtype, shape);
      EXPECT_EQ(text.size() % 64, 0u);
      const absl::StatusOr<NpyHeader> header = ParseNpyHeader(text + "1234");
      ASSERT_TRUE(header.ok()) << header.status();
      EXPECT_EQ(header->dtype, dtype);
      EXPECT_EQ(header->shape, shape);
      EXPECT_EQ(header->size, text.size());
    }
  }
}

TEST(NpyHeaderTest, AllVersions) {
  const std::string dict = Dict("'<f4'", "(3, 4)");
  for (const char version : {'\1', '\2', '\3'}) {
    const std::string text = Header(dict, version);
    const absl::StatusOr<NpyHeader> header = ParseNpyHeader(text);
    ASSERT_TRUE(header.ok()) << header.status();
    EXPECT_EQ(header->shape, Shape({3, 4}));
    EXPECT_EQ(header->size, text.size());
    EXPECT_EQ(NpyHeaderSize(text.substr(0, kNpyStart)).value(), text.size());
  }
  EXPECT_THAT(Refused(Header(dict, 4)), HasSubstr("version 4 is not known"));
}

TEST(NpyHeaderTest, WhatIsRefused) {
  EXPECT_THAT(Refused(""), HasSubstr("not an .npy file"));
  EXPECT_THAT(Refused("\x93NUMPY\x01"), HasSubstr("not an .npy file"));
  const std::string whole = Header(Dict("'<f4'", "(3,)"));
  EXPECT_THAT(Refused(whole.substr(0, whole.size() - 1)),
              HasSubstr("cut short"));
  EXPECT_THAT(Refused(std::string("\x93NUMPY\2\0\xff\xff\xff\xff", 12)),
              HasSubstr("a header of 4294967295 bytes"));
  EXPECT_THAT(Refused(Header("{'descr': '<f4', 'fortran_order': False}")),
              HasSubstr("has no 'shape'"));
  EXPECT_THAT(Refused(Header("{'descr': '<f4', 'shape': (3,)}")),
              HasSubstr("has no 'fortran_order'"));
  for (const char* shape : {"3", "(3", "(3 4)", "(,)", "(a,)", "(3L,)",
                            "(99999999999999999999,)"}) {
    EXPECT_THAT(Refused(Header(Dict("'<f4'", shape))), HasSubstr("malformed"))
        << shape;
  }
  for (const char* shape :
       {"(-1,)", "(9223372036854775807, 2)", "(0, 9223372036854775807, 9)",
        "(1, 1, 1, 1, 1, 1, 1, 1, 1)"}) {
    EXPECT_NE(Refused(Header(Dict("'<f4'", shape))), "nothing") << shape;
  }
}

TEST(NpyHeaderTest, TypesThatAreNotSupportedAreNamed) {
  for (const char* type :
       {"<U16", "|O", "<c8", "<u8", "|S5", "<M8[s]", "?f4"}) {
    const std::string text =
        Header(Dict("'" + std::string(type) + "'", "(3,)"));
    EXPECT_EQ(Refused(text),
              "elements of type '" + std::string(type) +
                  "' are not supported: convert the array to one of f4, f8, "
                  "f2, i4, i8, u1, b1, i1, i2, u2, u4");
    EXPECT_EQ(CodeOf(text), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_THAT(Refused(Header(Dict("'\x1b[2J'", "(3,)"))),
              HasSubstr("type '\\x1b[2J'"));
  EXPECT_LT(
      Refused(Header(Dict("'" + std::string(5000, 'x') + "'", "(3,)"))).size(),
      200u);
  EXPECT_THAT(Refused(Header(Dict("[('a', '<f4')]", "(3,)"))),
              HasSubstr("structured arrays are not supported"));
  for (const char* type : {"''", "'", "<f4", "'<f4"}) {
    const std::string text = Header("{'descr': " + std::string(type));
    EXPECT_THAT(Refused(text), HasSubstr("type in the header is malformed"));
    EXPECT_EQ(CodeOf(text), absl::StatusCode::kDataLoss);
  }
}

TEST(NpyHeaderTest, SaysHowTheElementsAreStored) {
  const auto parsed = [](const std::string& dict) {
    return ParseNpyHeader(Header(dict)).value();
  };
  const NpyHeader big = parsed(Dict("'>u2'", "(3, 2)", "True"));
  EXPECT_EQ(big.dtype, DType::kI32);
  EXPECT_EQ(big.stored_size, 2u);
  EXPECT_EQ(StoredBytes(big), 12u);
  EXPECT_FALSE(big.is_signed);
  EXPECT_TRUE(big.big_endian);
  EXPECT_TRUE(big.fortran_order);
  const NpyHeader small = parsed(Dict("'>u1'", "(3,)", "True"));
  EXPECT_FALSE(small.big_endian);
  // With one axis both orders are the same.
  EXPECT_FALSE(small.fortran_order);
  EXPECT_THAT(Refused(Header(Dict("'<f4'", "(3,)", "1"))),
              HasSubstr("order in the header is malformed"));
}

}  // namespace
}  // namespace capstan

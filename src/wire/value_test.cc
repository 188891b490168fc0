#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "capstan/error.h"
#include "capstan/function.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;

template <typename T>
EncodedValue Encode(const T& value) {
  ValueWriter writer;
  Type<T>::Write(writer, value);
  return writer.Take();
}

template <typename T>
T Decode(const EncodedValue& value, ResourceFinder finder = {}) {
  ValueReader reader(value, std::move(finder));
  T result = Type<T>::Read(reader);
  reader.End();
  return result;
}

// Why `value` is not a T; "" if it is. Any other exception fails the test.
template <typename T>
std::string Refusal(const EncodedValue& value) {
  try {
    Decode<T>(value);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return std::string(error.message());
  }
  return "";
}

template <typename T>
void ExpectSame(const T& value) {
  EXPECT_EQ(Decode<T>(Encode(value)), value) << Type<T>::Name();
}

template <typename T>
void ExpectSameAtEdges() {
  for (const T value : {std::numeric_limits<T>::lowest(),
                        std::numeric_limits<T>::max(), T{0}, T{1}, T{127}}) {
    ExpectSame(value);
  }
}

// A value of every kind but a resource.
using Everything = std::tuple<
    bool, int8_t, uint64_t, float, double, std::string, Tensor, DataRange,
    std::vector<int64_t>, std::map<std::string, std::vector<Tensor>>,
    std::optional<std::pair<int, std::string>>, std::optional<double>>;

Everything MakeEverything() {
  return {true,
          int8_t{-100},
          uint64_t{1} << 63,
          0.5F,
          -0.25,
          std::string("te\0xt", 5),
          Tensor::FromValues({2, 1}, {1.0F, 2.0F}),
          DataRange{.begin = 1, .end = 300, .epoch = 2, .index = 1000},
          {1, -2, int64_t{1} << 40},
          {{"a", {Tensor::Scalar(int64_t{7})}}, {"b", {}}},
          std::pair(3, std::string("three")),
          std::nullopt};
}

TEST(ValueTest, EveryTypeComesBackAsItWas) {
  ExpectSame(true);
  ExpectSame(false);
  ExpectSameAtEdges<int8_t>();
  ExpectSameAtEdges<uint8_t>();
  ExpectSameAtEdges<int16_t>();
  ExpectSameAtEdges<uint16_t>();
  ExpectSameAtEdges<int32_t>();
  ExpectSameAtEdges<uint32_t>();
  ExpectSameAtEdges<int64_t>();
  ExpectSameAtEdges<uint64_t>();
  ExpectSameAtEdges<float>();
  ExpectSameAtEdges<double>();
  ExpectSame(std::string());
  ExpectSame(std::string(1000, '\0'));
  ExpectSame(Tensor());
  ExpectSame(Tensor::Zeros(DType::kBF16, {3, 0, 2}));
  ExpectSame(Example());
  ExpectSame(Example{{"x", Tensor::FromValues({2}, {1.0F, 2.0F})},
                     {"y", Tensor::Scalar(int64_t{3})}});
  ExpectSame(std::vector<bool>{true, false, true});
  ExpectSame(std::tuple<>());
  ExpectSame(std::vector<std::tuple<>>(5));
  ExpectSame(MakeEverything());
}

TEST(ValueTest, BitsOfFloatsAreKept) {
  EXPECT_TRUE(std::signbit(Decode<double>(Encode(-0.0))));
  EXPECT_TRUE(std::isnan(Decode<float>(Encode(std::nanf("")))));
}

TEST(ValueTest, AnExampleWithANameTwiceIsRefused) {
  const std::vector<std::pair<std::string, Tensor>> twice = {{"x", Tensor()},
                                                             {"x", Tensor()}};
  ValueWriter writer;
  writer.List(twice.size());
  for (const auto& [name, tensor] : twice) {
    writer.Text(name);
    writer.Put(tensor);
  }
  const EncodedValue value = writer.Take();
  EXPECT_THROW(Decode<Example>(value), Error);
}

TEST(ValueTest, TensorsAreNotCopied) {
  const Tensor tensor = Tensor::FromValues({2}, {1.0F, 2.0F});
  const EncodedValue value = Encode(tensor);
  EXPECT_EQ(value.tensors[0].memory(), tensor.memory());
  EXPECT_EQ(Decode<Tensor>(value).memory(), tensor.memory());
}

TEST(ValueTest, EveryTruncationIsRefused) {
  const EncodedValue whole = Encode(MakeEverything());
  for (size_t size = 0; size < whole.bytes.size(); ++size) {
    EncodedValue cut = whole;
    cut.bytes.resize(size);
    EXPECT_NE(Refusal<Everything>(cut), "") << size;
  }
  for (size_t tensors = 0; tensors < whole.tensors.size(); ++tensors) {
    EncodedValue cut = whole;
    cut.tensors.resize(tensors);
    EXPECT_NE(Refusal<Everything>(cut), "") << tensors;
  }
}

TEST(ValueTest, WhatIsTooMuchIsRefused) {
  EncodedValue value = Encode(5);
  value.bytes.push_back('\1');
  EXPECT_THAT(Refusal<int>(value), HasSubstr("1 bytes and 0 tensors more"));
  value = Encode(5);
  value.tensors.emplace_back();
  EXPECT_THAT(Refusal<int>(value), HasSubstr("0 bytes and 1 tensors more"));
}

TEST(ValueTest, EveryOtherByteIsAnErrorOrAValue) {
  const EncodedValue whole = Encode(MakeEverything());
  size_t refused = 0;
  for (size_t at = 0; at < whole.bytes.size(); ++at) {
    for (int flip = 1; flip < 256; ++flip) {
      EncodedValue bent = whole;
      bent.bytes[at] = static_cast<char>(bent.bytes[at] ^ flip);
      if (!Refusal<Everything>(bent).empty()) ++refused;
    }
  }
  EXPECT_GT(refused, whole.bytes.size() * 255 / 4);
}

TEST(ValueTest, NoiseIsAnErrorOrAValue) {
  Random random(1, 2);
  for (int i = 0; i < 20'000; ++i) {
    EncodedValue noise;
    noise.bytes.resize(static_cast<size_t>(random.Between(0, 40)));
    for (char& byte : noise.bytes) {
      // Mostly tags and small numbers.
      byte = static_cast<char>(
          random.Between(0, random.Between(0, 1) == 0 ? 12 : 255));
    }
    noise.tensors.resize(static_cast<size_t>(random.Between(0, 2)));
    Refusal<Everything>(noise);
    Refusal<std::vector<std::vector<Tensor>>>(noise);
    Refusal<std::map<int, std::string>>(noise);
    Refusal<Rows>(noise);
  }
}

TEST(ValueTest, AnotherKindIsNamed) {
  EXPECT_EQ(Refusal<int>(Encode(std::string("5"))),
            "a text instead of a signed integer");
  EXPECT_EQ(Refusal<uint32_t>(Encode(5)),
            "a signed integer instead of an unsigned integer");
  EXPECT_EQ(Refusal<int>(Encode(5u)),
            "an unsigned integer instead of a signed integer");
  EXPECT_EQ(Refusal<bool>(Encode(1.0)), "an f64 instead of a bool");
  EXPECT_EQ(Refusal<double>(Encode(1.0F)), "an f32 instead of an f64");
  EXPECT_EQ(Refusal<float>(Encode(1.0)), "an f64 instead of an f32");
  EXPECT_EQ(Refusal<Tensor>(Encode(true)), "a bool instead of a tensor");
  EXPECT_EQ(Refusal<std::string>(Encode(Tensor())),
            "a tensor instead of a text");
  EXPECT_EQ(Refusal<int>(Encode(std::vector<int>())),
            "a list instead of a signed integer");
  EXPECT_EQ(Refusal<std::vector<int>>(Encode(5)),
            "a signed integer instead of a list");
  EXPECT_EQ(Refusal<int>(Encode(std::optional<int>())),
            "nothing instead of a signed integer");
  EncodedValue unknown;
  unknown.bytes = "\x63";
  EXPECT_EQ(Refusal<int>(unknown),
            "no value at all instead of a signed integer");
}

TEST(ValueTest, NumbersThatDoNotFitAreNamed) {
  EXPECT_EQ(Refusal<int8_t>(Encode(300)), "300 is no i8");
  EXPECT_EQ(Refusal<int8_t>(Encode(-129)), "-129 is no i8");
  EXPECT_EQ(Refusal<uint16_t>(Encode(uint64_t{70'000})), "70000 is no u16");
  EncodedValue endless;
  endless.bytes = "\x04" + std::string(11, '\x80');
  EXPECT_THAT(Refusal<uint64_t>(endless), HasSubstr("more than 64 bits"));
}

TEST(ValueTest, ListsOfAnotherLengthAreNamed) {
  EXPECT_THAT((Refusal<std::tuple<int, int>>(Encode(std::vector<int>{1}))),
              HasSubstr("a list of 1 values instead of 2"));
  EXPECT_THAT((Refusal<std::pair<int, int>>(Encode(std::vector<int>(3)))),
              HasSubstr("a list of 3 values instead of 2"));
}

// The length is compared with what is left before memory is allocated.
TEST(ValueTest, HugeLengthsAreRefusedBeforeMemoryIsAllocated) {
  for (const uint64_t size :
       {uint64_t{1} << 20, uint64_t{1} << 40, ~uint64_t{0}}) {
    ValueWriter writer;
    writer.List(size);
    writer.Int(1);
    const EncodedValue list = writer.Take();
    EXPECT_THAT(Refusal<std::vector<Everything>>(list), HasSubstr("cut short"));
    EXPECT_THAT((Refusal<std::map<int, Everything>>(list)),
                HasSubstr("cut short"));
    EncodedValue text = list;
    text.bytes[0] = 7;
    EXPECT_THAT(Refusal<std::string>(text), HasSubstr("cut short"));
  }
}

TEST(ValueTest, TensorsWithTheWrongBytesAreRefused) {
  EncodedValue value = Encode(Tensor::Zeros(DType::kF32, {3}));
  value.tensors[0] = Tensor::Zeros(DType::kU8, {11});
  EXPECT_THAT(Refusal<Tensor>(value), HasSubstr("[3] and type f32 with 11"));
  value.tensors[0] = Tensor::Zeros(DType::kU8, {12});
  EXPECT_EQ(Refusal<Tensor>(value), "") << "bytes, as they are received";
  value.tensors.clear();
  EXPECT_THAT(Refusal<Tensor>(value), HasSubstr("without elements"));
}

TEST(ValueTest, ShapesThatCannotBeAreRefused) {
  const auto refused = [](const std::string& rest) {
    EncodedValue value;
    value.bytes = "\x08" + rest;
    value.tensors.emplace_back();
    return Refusal<Tensor>(value);
  };
  EXPECT_NE(refused(std::string("\x63\x00", 2)), "") << "no such type";
  EXPECT_THAT(refused("\x01\x09"), HasSubstr("rank 9"));
  // Dims of 2^63 and above, which are negative, and a product beyond 64 bits.
  const std::string large = std::string(9, '\x80') + '\1';
  EXPECT_NE(refused("\x01\x01" + large), "");
  const std::string dim = "\x80\x80\x80\x80\x80\x40";  // 2^41
  EXPECT_NE(refused("\x01\x02" + dim + dim), "");
}

TEST(ValueTest, RowsAreChecked) {
  const Tensor ids = Tensor::Zeros(DType::kI64, {2});
  const Tensor values = Tensor::Zeros(DType::kF32, {2, 3});
  const Rows back = Decode<Rows>(Encode(Rows{ids, values}));
  EXPECT_EQ(back.ids, ids);
  EXPECT_EQ(back.values, values);
  const auto refused = [](const Tensor& a, const Tensor& b) {
    ValueWriter writer;
    writer.Put(a);
    writer.Put(b);
    EXPECT_THROW(Encode(Rows{a, b}), Error);
    return Refusal<Rows>(writer.Take());
  };
  EXPECT_THAT(refused(values, values), HasSubstr("i64 of rank 1"));
  EXPECT_THAT(refused(ids, Tensor::Zeros(DType::kF32, {3, 3})),
              HasSubstr("2 ids for values of shape [3, 3]"));
  EXPECT_THAT(refused(ids, Tensor::Scalar(1.0F)), HasSubstr("[]"));
}

TEST(ValueTest, AResourceIsFoundByItsId) {
  const PerWorker<int> handle(std::make_shared<const uint64_t>(300));
  const EncodedValue value = Encode(handle);
  const auto number = std::make_shared<int>(7);
  const ResourceFinder finder = [&](uint64_t id) -> std::shared_ptr<void> {
    EXPECT_EQ(id, 300u);
    return number;
  };
  EXPECT_EQ(*Decode<PerWorker<int>>(value, finder), 7);
  EXPECT_THAT(Refusal<PerWorker<int>>(value), HasSubstr("where there is none"));
  EXPECT_EQ(Refusal<int>(value),
            "a per-worker resource instead of a signed integer");
  // A resource that a worker holds cannot be sent.
  EXPECT_THROW(Encode(PerWorker<int>(number)), Error);
  EXPECT_THROW(*handle, Error);
}

TEST(SignatureTest, NamesTheTypesInOrder) {
  EXPECT_EQ((SignatureOf<void>()), "void()");
  EXPECT_EQ((SignatureOf<double, DataRange, PerWorker<int>>()),
            "f64(range, per_worker<int>)");
  EXPECT_EQ((SignatureOf<Example, Example>()), "example(example)");
  EXPECT_EQ((SignatureOf<std::tuple<>, std::optional<std::pair<bool, uint8_t>>,
                         std::map<std::string, std::vector<Tensor>>, Rows>()),
            "()(optional<(bool, u8)>, map<text, list<tensor>>, rows)");
}

}  // namespace
}  // namespace capstan

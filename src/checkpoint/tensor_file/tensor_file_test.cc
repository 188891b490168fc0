#include "checkpoint/tensor_file/tensor_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <new>

#include "checkpoint/tensor_file/npz_files_test.h"
#include "checkpoint/tensor_file/safetensors.h"
#include "checkpoint/tensor_file/zip_writer.h"
#include "simulation/sim_file_system.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Member;
using testing::MemoryFile;
using testing::NpyOf;
using testing::ReadWhole;
using testing::StatusIs;
using testing::ZipOf;

// More than one piece, and not a multiple of a piece.
Tensor Large(DType dtype) {
  Tensor tensor = Tensor::Zeros(dtype, {400'001});
  uint32_t state = 1;
  for (std::byte& byte : tensor.mutable_view().mutable_bytes()) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(state >> 24 & 1);
  }
  return tensor;
}

std::map<std::string, Tensor> AllKinds() {
  return {{"f32", Large(DType::kF32)},
          {"dense/f64", Tensor::Scalar(0.1)},
          {"f16", Tensor::FromValues({2, 1}, {Float16(1.5f), Float16(-2.f)})},
          {"i32", Tensor::FromValues<int32_t>({3}, {-1, 0, 1})},
          {"i64", Large(DType::kI64)},
          {"u8", Tensor::FromValues<uint8_t>({2}, {0, 255})},
          {"bool", Large(DType::kBool)},
          {"größe", Tensor::Zeros(DType::kF32, {0, 4})}};
}

void ExpectAllKinds(const TensorFile& file) {
  EXPECT_EQ(file.tensors().size(), AllKinds().size());
  for (const auto& [name, tensor] : AllKinds()) {
    const FileTensor* found = file.Find(name);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_EQ(found->dtype, tensor.dtype());
    EXPECT_EQ(found->shape, tensor.shape());
    const absl::StatusOr<Tensor> read = ReadWhole(file, name);
    ASSERT_OK(read);
    EXPECT_EQ(*read, tensor) << name;
  }
}

TEST(TensorFileTest, Safetensors) {
  SimFileSystem files;
  std::map<std::string, Tensor> all = AllKinds();
  all.emplace("bf16", Tensor::FromValues({1}, {BFloat16(3.f)}));
  std::vector<NamedTensor> named;
  for (const auto& [name, tensor] : all) named.push_back({name, tensor.view()});
  ASSERT_OK(WriteSafetensors(files, "in", named));
  const auto file = OpenSafetensors(*files.OpenForRead("in"), "in");
  ASSERT_OK(file);
  EXPECT_EQ((*file)->tensors().size(), all.size());
  for (const auto& [name, tensor] : all) {
    const absl::StatusOr<Tensor> read = ReadWhole(**file, name);
    ASSERT_OK(read);
    EXPECT_EQ(*read, tensor) << name;
  }
}

TEST(TensorFileTest, NpzStoredAndDeflated) {
  for (const bool deflated : {false, true}) {
    std::vector<testing::RawMember> members;
    for (const auto& [name, tensor] : AllKinds()) {
      members.push_back(Member(name + ".npy", NpyOf(tensor), deflated));
    }
    const MemoryFile memory(ZipOf(members));
    const auto file = memory.OpenAs(TensorFormat::kNpz);
    ASSERT_OK(file);
    ExpectAllKinds(**file);
  }
}

TEST(TensorFileTest, NpzOfOurs) {
  SimFileSystem files;
  {
    auto out = files.CreateForWrite("in", IfExists::kFail);
    ASSERT_OK(out);
    ZipWriter zip(**out);
    for (const auto& [name, tensor] : AllKinds()) {
      const std::string npy = NpyOf(tensor);
      ASSERT_OK(zip.Begin(name + ".npy", npy.size(),
                          ExtendZipCrc32(0, AsBytes(npy))));
      ASSERT_OK(zip.Append(AsBytes(npy)));
    }
    ASSERT_OK(zip.Finish());
  }
  const auto file = OpenNpz(*files.OpenForRead("in"), "in");
  ASSERT_OK(file);
  ExpectAllKinds(**file);
}

TEST(TensorFileTest, AnEmptyArchiveHasNoTensors) {
  const auto file = MemoryFile(ZipOf({})).OpenAs(TensorFormat::kNpz);
  ASSERT_OK(file);
  EXPECT_TRUE((*file)->tensors().empty());
  EXPECT_EQ((*file)->Find("a"), nullptr);
  EXPECT_THAT((*file)->Read("a", nullptr),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("\"in\""), HasSubstr("\"a\""))));
}

// A tensor of an unsupported type beside one of a supported type.
TEST(TensorFileTest, WhatCannotBeReadIsInNobodysWay) {
  const Tensor w = Tensor::FromValues({2}, {1.0f, 2.0f});
  std::string text = NpyOf(Tensor::Zeros(DType::kI64, {2}));
  text.replace(text.find("'<i8', "), 7, "'<U16',");
  const MemoryFile npz(
      ZipOf({Member("notes.txt", "text"), Member("u.npy", text),
             Member("w.npy", NpyOf(w))}));
  std::string json =
      R"({"u":{"dtype":"U16","shape":[3],"data_offsets":[0,6]},)"
      R"("w":{"dtype":"F32","shape":[2],"data_offsets":[6,14]}})";
  std::string file;
  testing::PutNumber(file, uint64_t{json.size()});
  const MemoryFile safetensors(file + json + "123456" +
                               std::string(AsText(w.view().bytes())));
  const auto expect = [&](const MemoryFile& memory, TensorFormat format,
                          const std::string& type) {
    const auto opened = memory.OpenAs(format);
    ASSERT_OK(opened);
    ASSERT_EQ((*opened)->tensors().size(), 2u);
    EXPECT_EQ(*ReadWhole(**opened, "w"), w);
    ASSERT_NE((*opened)->Find("u"), nullptr);
    EXPECT_THAT((*opened)->Find("u")->unreadable, HasSubstr(type));
    EXPECT_THAT(
        (*opened)->Read("u", nullptr),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 AllOf(HasSubstr("read \"in\": tensor \"u\": "),
                       HasSubstr(type), HasSubstr("not supported: convert"))));
  };
  expect(npz, TensorFormat::kNpz, "'<U16'");
  expect(safetensors, TensorFormat::kSafetensors, "\"U16\"");
}

TEST(TensorFileTest, ArraysOfOtherOrdersAndTypesAreDecoded) {
  // Several pieces.
  constexpr int kRows = 1000;
  constexpr int kColumns = 1000;
  std::string rows;
  std::string columns;
  Tensor values = Tensor::Zeros(DType::kI32, {kRows, kColumns});
  const auto ints = values.MutableValues<int32_t>();
  const auto put = [](std::string& to, int value) {
    to.push_back(static_cast<char>(value >> 8));
    to.push_back(static_cast<char>(value & 0xff));
  };
  const auto value_at = [](int i, int j) { return (i * 77 + j * 13) % 65'536; };
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) {
      put(rows, value_at(i, j));
      put(columns, value_at(j, i));
      ints[static_cast<size_t>(i * kColumns + j)] = value_at(i, j);
    }
  }
  const auto npy = [](const std::string& order, const std::string& elements) {
    const std::string dict = "{'descr': '>u2', 'fortran_order': " + order +
                             ", 'shape': (1000, 1000), }";
    std::string text = "\x93NUMPY";
    text += {'\1', '\0', static_cast<char>(dict.size()), '\0'};
    return text + dict + elements;
  };
  const MemoryFile memory(
      ZipOf({Member("rows.npy", npy("False", rows), true),
             Member("columns.npy", npy("True", columns), true)}));
  const auto file = memory.OpenAs(TensorFormat::kNpz);
  ASSERT_OK(file);
  EXPECT_TRUE(*ReadWhole(**file, "rows") == values);
  EXPECT_TRUE(*ReadWhole(**file, "columns") == values);
}

TEST(TensorFileTest, WhatTakeSaysIsPassedOnAndEndsIt) {
  const MemoryFile memory(
      ZipOf({Member("a.npy", NpyOf(Large(DType::kI64)), true)}));
  const auto file = memory.OpenAs(TensorFormat::kNpz);
  ASSERT_OK(file);
  int calls = 0;
  EXPECT_THAT((*file)->Read("a",
                            [&](uint64_t, Bytes) {
                              ++calls;
                              return absl::CancelledError("enough");
                            }),
              StatusIs(absl::StatusCode::kCancelled,
                       HasSubstr("read \"in\": tensor \"a\": enough")));
  EXPECT_EQ(calls, 1);
}

TEST(TensorFileTest, BoolsAreZeroOrOne) {
  std::string npy = NpyOf(Tensor::FromValues({2}, {true, false}));
  npy.back() = '\2';
  const MemoryFile memory(ZipOf({Member("a.npy", npy)}));
  const auto file = memory.OpenAs(TensorFormat::kNpz);
  ASSERT_OK(file);
  EXPECT_THAT(ReadWhole(**file, "a"), StatusIs(absl::StatusCode::kDataLoss,
                                               HasSubstr("neither 0 nor 1")));
}

TEST(TensorFileTest, FormatsAreKnownByTheirSuffix) {
  EXPECT_EQ(*TensorFormatOf("a/b.safetensors"), TensorFormat::kSafetensors);
  EXPECT_EQ(*TensorFormatOf("a.npz"), TensorFormat::kNpz);
  EXPECT_THAT(TensorFormatOf("a.npz.tmp"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("'a.npz.tmp'"), HasSubstr(".npz"))));
}

// Simulates a lack of memory while reading.
class HungryFile final : public ReadableFile {
 public:
  absl::StatusOr<size_t> ReadAt(uint64_t /*offset*/,
                                MutableBytes /*buffer*/) const override {
    throw std::bad_alloc();
  }
  absl::StatusOr<uint64_t> Size() const override { return 1000; }
};

TEST(TensorFileTest, AListThatMemoryDoesNotHoldIsAnError) {
  for (const TensorFormat format :
       {TensorFormat::kNpz, TensorFormat::kSafetensors}) {
    EXPECT_THAT(OpenTensorFile(std::make_unique<HungryFile>(), "in", format),
                StatusIs(absl::StatusCode::kResourceExhausted,
                         "read \"in\": out of memory"));
  }
}

}  // namespace
}  // namespace capstan

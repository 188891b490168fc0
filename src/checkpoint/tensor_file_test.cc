#include "checkpoint/tensor_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <new>

#include "base/sim_file_system.h"
#include "checkpoint/npz_files_test.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/zip_writer.h"
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

// More than one piece, and not a multiple of it.
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

// As if there were no memory for what is to be read.
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

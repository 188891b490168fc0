#include "checkpoint/tensor_file/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "rapidcheck/gtest.h"
#include "simulation/sim_file_system.h"
#include "tensor/dtype.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::capstan::testing::IsOkAndHolds;
using ::capstan::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using absl::StatusCode::kInvalidArgument;

Tensor Weights() { return Tensor::FromValues({1, 2}, {1.0f, 2.5f}); }

// The output of PyPI's safetensors 0.8 for the same tensors.
TEST(SafetensorsTest, Golden) {
  const Tensor weights = Weights();
  const Tensor ids = Tensor::FromValues<int64_t>({1}, {3});
  const Tensor on = Tensor::FromValues({2}, {true, false});
  const std::vector<NamedTensor> tensors = {
      {"on", on.view()}, {"w", weights.view()}, {"ids", ids.view()}};
  SimFileSystem files;
  ASSERT_OK(WriteSafetensors(files, "m.safetensors", tensors, {{"step", "7"}}));
  EXPECT_THAT(
      ReadFile(files, "m.safetensors", 1 << 20),
      IsOkAndHolds(
          std::string("\xc8\0\0\0\0\0\0\0", 8) +
          R"({"__metadata__":{"step":"7"},)"
          R"("ids":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},)"
          R"("w":{"dtype":"F32","shape":[1,2],"data_offsets":[8,16]},)"
          R"("on":{"dtype":"BOOL","shape":[2],"data_offsets":[16,18]}})" +
          std::string(3, ' ') +
          std::string("\3\0\0\0\0\0\0\0\0\0\x80\x3f\0\0\x20\x40\1\0", 18)));
  const auto read = ReadSafetensors(files, "m.safetensors");
  ASSERT_OK(read);
  EXPECT_THAT(read->names, ElementsAre("ids", "w", "on"));
  EXPECT_EQ(*read->Find("w"), weights);
  EXPECT_EQ(*read->Find("ids"), ids);
  EXPECT_EQ(*read->Find("on"), on);
  EXPECT_EQ(read->Find("no"), nullptr);
  EXPECT_EQ(read->metadata.at("step"), "7");
}

TEST(SafetensorsTest, NothingIsAFileToo) {
  SimFileSystem files;
  ASSERT_OK(WriteSafetensors(files, "a", {}));
  const auto read = ReadSafetensors(files, "a");
  ASSERT_OK(read);
  EXPECT_TRUE(read->names.empty());
  EXPECT_TRUE(read->metadata.empty());
}

Tensor AnyTensor() {
  const auto dtype = *rc::gen::elementOf(
      std::vector<DType>(kAllDTypes.begin(), kAllDTypes.end()));
  const auto dims =
      *rc::gen::resize(4, rc::gen::container<std::vector<int64_t>>(
                              rc::gen::inRange<int64_t>(0, 5)));
  Tensor tensor = Tensor::Zeros(dtype, Shape(dims));
  for (std::byte& byte : tensor.mutable_view().mutable_bytes()) {
    byte = static_cast<std::byte>(
        *rc::gen::inRange<int>(0, dtype == DType::kBool ? 2 : 256));
  }
  return tensor;
}

RC_GTEST_PROP(SafetensorsTest, WhatIsWrittenIsRead, ()) {
  const auto names =
      *rc::gen::unique<std::vector<std::string>>(rc::gen::nonEmpty(
          rc::gen::container<std::string>(rc::gen::inRange<char>(1, 0x7f))));
  std::vector<std::pair<std::string, Tensor>> given;
  std::vector<NamedTensor> tensors;
  SimFileSystem files;
  for (const std::string& name : names) given.emplace_back(name, AnyTensor());
  for (const auto& [name, tensor] : given) {
    tensors.push_back({name, tensor.view()});
  }
  RC_ASSERT(WriteSafetensors(files, "a", tensors, {{"k", "v"}}).ok());
  const auto read = ReadSafetensors(files, "a");
  RC_ASSERT(read.ok());
  RC_ASSERT(read->names.size() == given.size());
  for (const auto& [name, tensor] : given) {
    RC_ASSERT(read->Find(name) != nullptr);
    RC_ASSERT(*read->Find(name) == tensor);
  }
}

TEST(SafetensorsTest, EachTensorAlone) {
  SimFileSystem files;
  const Tensor weights = Weights();
  const std::vector<NamedTensor> tensors = {{"w", weights.view()},
                                            {"v", weights.view()}};
  ASSERT_OK(WriteSafetensors(files, "a", tensors));
  const auto file = SafetensorsFile::Open(files, "a");
  ASSERT_OK(file);
  ASSERT_EQ(file->header().entries.size(), 2u);
  EXPECT_THAT(file->Read(file->header().entries[1]), IsOkAndHolds(weights));
}

TEST(SafetensorsTest, RefusesNames) {
  SimFileSystem files;
  const Tensor weights = Weights();
  for (const auto& [name, why] :
       std::vector<std::pair<std::string, std::string>>{
           {"", "name"}, {"__metadata__", "reserved"}, {"\xff", "UTF-8"}}) {
    const std::vector<NamedTensor> tensors = {{name, weights.view()}};
    EXPECT_THAT(
        WriteSafetensors(files, "m", tensors),
        StatusIs(kInvalidArgument, AllOf(HasSubstr("\"m\""), HasSubstr(why))));
  }
  const std::vector<NamedTensor> twice = {{"w", weights.view()},
                                          {"w", weights.view()}};
  EXPECT_THAT(
      WriteSafetensors(files, "m", twice),
      StatusIs(kInvalidArgument, HasSubstr("\"w\": it is there twice")));
  EXPECT_THAT(files.List(""), IsOkAndHolds(ElementsAre()));
}

TEST(SafetensorsTest, RefusesBoolsThatAreNone) {
  SimFileSystem files;
  const std::byte two{2};
  const std::vector<NamedTensor> tensors = {
      {"w", TensorView(DType::kBool, {}, &two)}};
  EXPECT_THAT(WriteSafetensors(files, "m", tensors),
              StatusIs(kInvalidArgument, HasSubstr("\"w\"")));
}

// Whatever fails, and whenever the power fails: the old file or the new one.
TEST(SafetensorsTest, IsReplacedAtomically) {
  const Tensor old_value = Weights();
  const Tensor new_value = Tensor::FromValues<int64_t>({2}, {1, 2});
  for (uint64_t step = 1;; ++step) {
    SimFileSystem files;
    const std::vector<NamedTensor> before = {{"w", old_value.view()}};
    const std::vector<NamedTensor> after = {{"w", new_value.view()}};
    ASSERT_OK(WriteSafetensors(files, "m", before));
    files.FailFrom(files.operations() + step, absl::DataLossError("planted"));
    const absl::Status status = WriteSafetensors(files, "m", after);
    files.ClearFailures();
    Random random(step);
    files.Crash(random);
    const auto read = ReadSafetensors(files, "m");
    ASSERT_OK(read);
    const Tensor* found = read->Find("w");
    ASSERT_NE(found, nullptr);
    if (status.ok()) {
      EXPECT_EQ(*found, new_value);
      break;
    }
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("\"m\"")));
    EXPECT_TRUE(*found == old_value || *found == new_value) << step;
  }
}

TEST(SafetensorsTest, LeavesNoTemporaryFile) {
  SimFileSystem files;
  const Tensor weights = Weights();
  const std::vector<NamedTensor> tensors = {{"w", weights.view()}};
  // Leftovers of a crash do not get in the way.
  ASSERT_OK(files.CreateForWrite("m.tmp", IfExists::kFail));
  ASSERT_OK(WriteSafetensors(files, "m", tensors));
  EXPECT_THAT(files.List(""), IsOkAndHolds(ElementsAre("m")));
  files.SetCapacity(files.used_bytes() + 70);
  EXPECT_THAT(WriteSafetensors(files, "n", tensors),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("n")));
  EXPECT_THAT(files.List(""), IsOkAndHolds(ElementsAre("m")));
}

TEST(SafetensorsTest, ErrorsOfTheFileSystemNameTheFile) {
  SimFileSystem files;
  EXPECT_THAT(ReadSafetensors(files, "m"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("\"m\"")));
  EXPECT_THAT(WriteSafetensors(files, "no/m", {}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("\"no/m")));
}

}  // namespace
}  // namespace capstan

// Files that are damaged, or crafted to do damage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "checkpoint/tensor_file/safetensors.h"
#include "simulation/sim_file_system.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::capstan::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint64_t kMostBytes = 1 << 20;
using absl::StatusCode::kDataLoss;

class SafetensorsHostileTest : public ::testing::Test {
 protected:
  // Reads `content` as a file.
  absl::StatusOr<Safetensors> Read(const std::string& content) {
    auto file = files_.CreateForWrite("m", IfExists::kTruncate);
    EXPECT_OK(file);
    EXPECT_OK((*file)->Append(AsBytes(content)));
    return ReadSafetensors(files_, "m");
  }

  // A valid file with three tensors.
  std::string Good() {
    const std::vector<NamedTensor> tensors = {
        {"w", weights_.view()}, {"ids", ids_.view()}, {"on", on_.view()}};
    EXPECT_OK(WriteSafetensors(files_, "m", tensors, {{"step", "7"}}));
    return ReadFile(files_, "m", kMostBytes).value();
  }

  // `json` preceded by its length and followed by `data`.
  static std::string File(const std::string& json, const std::string& data) {
    std::string length;
    for (size_t i = 0; i < 8; ++i) {
      length.push_back(static_cast<char>(json.size() >> (8 * i) & 0xff));
    }
    return length + json + data;
  }

  SimFileSystem files_;
  const Tensor weights_ = Tensor::FromValues({2, 2}, {1.0f, 2.5f, -1.0f, 0.0f});
  const Tensor ids_ = Tensor::FromValues<int64_t>({3}, {3, -1, 7});
  const Tensor on_ = Tensor::FromValues({2}, {true, false});
};

TEST_F(SafetensorsHostileTest, EveryTruncationIsAnError) {
  const std::string good = Good();
  ASSERT_OK(Read(good));
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_THAT(Read(good.substr(0, size)),
                StatusIs(kDataLoss, HasSubstr("\"m\"")))
        << size;
  }
  EXPECT_THAT(Read(good + "x"), StatusIs(kDataLoss));
}

// The header has no checksum, so a name or a metadata text may change; its
// description of the data may not.
TEST_F(SafetensorsHostileTest, EveryFlippedBitOfTheHeader) {
  const std::string good = Good();
  const size_t data = ids_.view().bytes().size() +
                      weights_.view().bytes().size() +
                      on_.view().bytes().size();
  const size_t header = good.size() - data;
  size_t read_well = 0;
  for (size_t bit = 0; bit < header * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    const auto read = Read(bad);
    if (!read.ok()) {
      EXPECT_THAT(read.status().message(), HasSubstr("\"m\"")) << bit;
      continue;
    }
    ++read_well;
    ASSERT_EQ(read->tensors.size(), 3u) << bit;
    EXPECT_EQ(read->tensors[0], ids_) << bit;
    EXPECT_EQ(read->tensors[1], weights_) << bit;
    EXPECT_EQ(read->tensors[2], on_) << bit;
  }
  // Most bits matter.
  EXPECT_GT(read_well, 0u);
  EXPECT_LT(read_well, header * 8 / 2);
}

TEST_F(SafetensorsHostileTest, HugeHeaderIsNotAllocated) {
  EXPECT_THAT(Read(std::string("\1\xe1\xf5\5\0\0\0\0", 8)),  // 100,000,001
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("\"m\""), HasSubstr("100000001"))));
  EXPECT_THAT(Read(std::string("\0\xe1\xf5\5\0\0\0\0", 8)),  // 100,000,000
              StatusIs(kDataLoss));
  EXPECT_THAT(Read(std::string(8, '\xff')),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST_F(SafetensorsHostileTest, DeepNestingIsRefused) {
  EXPECT_THAT(Read(File("{\"a\":" + std::string(1 << 19, '['), "")),
              StatusIs(kDataLoss, HasSubstr("\"m\"")));
  EXPECT_THAT(Read(File("{\"a\":{\"shape\":" + std::string(1 << 19, '['), "")),
              StatusIs(kDataLoss, HasSubstr("\"a\"")));
}

TEST_F(SafetensorsHostileTest, HugeTensorIsNotAllocated) {
  EXPECT_THAT(
      Read(File(R"({"w":{"dtype":"F64","shape":[1152921504606846975],)"
                R"("data_offsets":[0,9223372036854775800]}})",
                "x")),
      StatusIs(kDataLoss, AllOf(HasSubstr("\"m\""), HasSubstr("\"w\""))));
}

TEST_F(SafetensorsHostileTest, BoolsThatAreNoneAreRefused) {
  const std::string json =
      R"({"on":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})";
  ASSERT_OK(Read(File(json, std::string("\0\1", 2))));
  EXPECT_THAT(
      Read(File(json, std::string("\0\2", 2))),
      StatusIs(kDataLoss, AllOf(HasSubstr("\"m\""), HasSubstr("\"on\""))));
}

TEST_F(SafetensorsHostileTest, UnalignedDataAreRead) {
  const auto read =
      Read(File(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                R"("b":{"dtype":"F32","shape":[],"data_offsets":[1,5]}})",
                std::string("\7\0\0\x80\x3f", 5)));
  ASSERT_OK(read);
  EXPECT_EQ(*read->Find("a"), Tensor::FromValues<uint8_t>({1}, {7}));
  EXPECT_EQ(*read->Find("b"), Tensor::Scalar(1.0f));
}

}  // namespace
}  // namespace capstan

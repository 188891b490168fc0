#include "checkpoint/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "checkpoint/directory.h"
#include "checkpoint/shard_file.h"
#include "simulation/sim_file_system.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;

// A checkpoint of variable "w" in shards of so many rows, and of "other".
struct Saved {
  Saved(const std::vector<float>& values, const std::vector<int64_t>& rows,
        const std::string& other, DType other_dtype = DType::kF32) {
    SavedVariable w{.name = "w",
                    .dtype = DType::kF32,
                    .shape = Shape({static_cast<int64_t>(values.size())}),
                    .optimizer = "",
                    .slots = {},
                    .shards = {}};
    const SavedVariable o{.name = other,
                          .dtype = other_dtype,
                          .shape = Shape({1}),
                          .optimizer = "",
                          .slots = {},
                          .shards = {{.begin = 0, .end = 1, .file = "f"}}};
    std::vector<FileTensor> tensors;
    std::string data;
    int64_t begin = 0;
    for (const int64_t count : rows) {
      w.shards.push_back({.begin = begin, .end = begin + count, .file = "f"});
      tensors.push_back({ShardTensorName("w", begin, begin + count),
                         DType::kF32, Shape({count})});
      begin += count;
    }
    data = AsText(std::as_bytes(std::span(values)));
    tensors.push_back({ShardTensorName(other, 0, 1), other_dtype, Shape({1})});
    data.append(SizeOf(other_dtype), '\0');
    auto writer = ShardFileWriter::Create(files, "f", 1, tensors);
    EXPECT_OK(writer);
    EXPECT_OK((*writer)->Append(AsBytes(data)));
    manifest.save_id = 1;
    manifest.files = {*(*writer)->Finish()};
    manifest.variables = {o, w};
    if (w.name < o.name)
      std::swap(manifest.variables[0], manifest.variables[1]);
  }

  DiffSide side() const { return {&files, "", &manifest}; }

  SimFileSystem files;
  Manifest manifest;
};

TEST(DiffTest, TheSameHoweverItIsCut) {
  const Saved a({1, 2, 3, 4, 5, 6, 7}, {3, 4}, "b");
  const Saved b({1, 2, 3, 4, 5, 6, 7}, {1, 1, 5}, "b");
  const auto diff = DiffCheckpoints(a.side(), b.side(), false);
  ASSERT_OK(diff);
  EXPECT_TRUE(diff->empty());
  ASSERT_EQ(diff->tensors.size(), 2u);
  EXPECT_EQ(diff->tensors[1].elements, 7u);
}

TEST(DiffTest, CountsAndMeasures) {
  const Saved a({1, 2, 3, 4, 5, -0.0f, 7}, {3, 4}, "b");
  const Saved b({1, 2.5, 3, 4, 1, 0.0f, 7}, {1, 1, 5}, "b");
  const auto diff = DiffCheckpoints(a.side(), b.side(), false);
  ASSERT_OK(diff);
  EXPECT_FALSE(diff->empty());
  EXPECT_EQ(diff->tensors[1].name, "w");
  EXPECT_EQ(diff->tensors[1].different, 3u);
  EXPECT_EQ(diff->tensors[1].largest, 4.0);
}

// A NaN is found in any position.
TEST(DiffTest, NaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const size_t at : {0, 1, 2}) {
    std::vector<float> values = {1, 2, 3};
    values[at] = nan;
    const Saved a({0, 0, 0}, {3}, "b");
    const Saved b(values, {3}, "b");
    const auto diff = DiffCheckpoints(a.side(), b.side(), false);
    ASSERT_OK(diff);
    EXPECT_EQ(diff->tensors[1].different, 3u);
    EXPECT_TRUE(std::isnan(diff->tensors[1].largest)) << at;
    EXPECT_TRUE(DiffCheckpoints(b.side(), b.side(), false)->empty());
  }
}

TEST(DiffTest, NamesAndTypes) {
  const Saved a({1}, {1}, "x");
  const Saved b({1, 2}, {2}, "y");
  auto diff = DiffCheckpoints(a.side(), b.side(), true);
  ASSERT_OK(diff);
  EXPECT_FALSE(diff->empty());
  EXPECT_THAT(diff->only_first, ElementsAre("x"));
  EXPECT_THAT(diff->only_second, ElementsAre("y"));
  EXPECT_THAT(diff->other_types, ElementsAre("w: f32[1] and f32[2]"));
  const Saved c({1}, {1}, "x", DType::kI32);
  diff = DiffCheckpoints(a.side(), c.side(), true);
  ASSERT_OK(diff);
  EXPECT_THAT(diff->other_types, ElementsAre("x: f32[1] and i32[1]"));
}

}  // namespace
}  // namespace capstan

// Checkpoints that earlier versions have written, which every later one reads:
// tests/golden has one of each version of the format, and none is ever written
// again.
#include <gtest/gtest.h>

#include "coordinator/checkpoint_helpers.h"
#include "testing/source_path.h"

namespace capstan::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kVersion1 = SourcePath("tests/golden/checkpoint_v1");

TEST(GoldenCheckpointTest, Version1IsWhatItWas) {
  const SavedState saved(kVersion1, "ckpt-1");
  saved.Verify();
  EXPECT_EQ(saved.manifest().step, 908u);
  EXPECT_EQ(saved.manifest().round, 303u);
  EXPECT_EQ(saved.manifest().generation, 1u);
  EXPECT_EQ(saved.Find("linear/w").shards.at(0).updates, 303u);
  EXPECT_THAT(saved.Floats("linear/w"),
              ElementsAre(-0x1.000004p+0F, -0x1.00abc6p-24F, 1));
  EXPECT_THAT(saved.Floats("linear/w", "m"),
              ElementsAre(-0x1.67559p-23F, 0x1.e403c2p-27F, -0x1.288714p-25F));
  EXPECT_THAT(saved.Floats("linear/w", "v"),
              ElementsAre(0x1.73f3f6p-8F, 0x1.17fe3p-16F, 0x1.8f872ep-8F));
  EXPECT_THAT(saved.Floats("linear/b"), ElementsAre(1));
  EXPECT_THAT(saved.Floats("linear/b", "v"), ElementsAre(0x1.cee28p-9F));
}

TEST(GoldenCheckpointTest, Version1IsRestored) {
  Job job(Definitions(), 1, 3);
  job.coordinator.CreateVariables(
      {{.name = "linear/w", .shape = {3}, .optimizer = Adam{}},
       {.name = "linear/b", .shape = {1}, .optimizer = Adam{}},
       {.name = "linear/iterations", .shape = {}, .dtype = DType::kI64}},
      FixedShards(2));
  CheckpointManager manager(job.coordinator, kVersion1, {.read_only = true});
  const RestoreReport report = manager.Restore();
  EXPECT_EQ(report.name, "ckpt-1");
  EXPECT_EQ(report.restored.size(), 3u);
  EXPECT_THAT(report.without_slots, IsEmpty());
  EXPECT_THAT(report.damaged, IsEmpty());
  EXPECT_THAT(report.records.at("trainer/linear"),
              HasSubstr("\"iterations\":903"));
  EXPECT_EQ(job.coordinator.Read("linear/iterations"),
            Tensor::Scalar<int64_t>(903));
  // And is saved again as what it was, slots and all.
  const TempDir dir;
  const SavedState again = SaveIn(job.coordinator, dir.path());
  EXPECT_EQ(again.DifferenceFrom(SavedState(kVersion1, "ckpt-1")), "");
}

}  // namespace
}  // namespace capstan::testing

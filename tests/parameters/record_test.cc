// What a coordinator leaves with the servers for the one that takes over.
#include <gtest/gtest.h>

#include <string>

#include "parameters/helpers.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;
using testing::ParameterJob;
using testing::Push;
using testing::Spec;
using testing::StatusIs;

absl::Status SetRecord(ParameterJob& job, uint64_t watermark,
                       std::string record) {
  WatermarkRequest request;
  request.fence = job.fence();
  request.watermark = watermark;
  request.record = std::move(record);
  return job.Run(job.chief(), job.chief().SetWatermark(std::move(request)));
}

TEST(RecordTest, GoesWithTheWatermark) {
  ParameterJob job;
  ASSERT_OK(job.Create({Spec("w", {4})}));
  EXPECT_EQ(job.Status(0).record, "");
  const std::string bytes("\0\xff", 2);
  ASSERT_OK(SetRecord(job, 5, bytes));
  EXPECT_EQ(job.Status(0).watermark, 5u);
  EXPECT_EQ(job.Status(0).record, bytes);
  // One that comes late changes nothing.
  ASSERT_OK(SetRecord(job, 4, "late"));
  EXPECT_EQ(job.Status(0).watermark, 5u);
  EXPECT_EQ(job.Status(0).record, bytes);
  ASSERT_OK(SetRecord(job, 5, "again"));
  EXPECT_EQ(job.Status(0).record, "again");
  // Without a record the last one stays.
  ASSERT_OK(SetRecord(job, 6, ""));
  EXPECT_EQ(job.Status(0).watermark, 6u);
  EXPECT_EQ(job.Status(0).record, "again");
  // As it does with a new variable.
  ASSERT_OK(job.Create({Spec("v", {4})}));
  EXPECT_EQ(job.Status(0).record, "again");
}

TEST(RecordTest, AnOldCoordinatorCannotReplaceIt) {
  ParameterJob job;
  ASSERT_OK(job.Create({Spec("w", {4})}));
  const Fence old = job.fence();
  job.set_term(old.term + 1);
  ASSERT_OK(SetRecord(job, 1, "new"));
  WatermarkRequest request = {.fence = old, .watermark = 9, .record = "old"};
  EXPECT_THAT(
      job.Run(job.chief(), job.chief().SetWatermark(request)),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("fenced")));
  EXPECT_EQ(job.Status(0).record, "new");
  EXPECT_EQ(job.Status(0).watermark, 1u);
}

TEST(RecordTest, ANewGenerationBeginsWithItsOwn) {
  ParameterJob job({.servers = 2});
  ASSERT_OK(job.Create({Spec("w", {4})}, FixedShards(2)));
  ASSERT_OK(SetRecord(job, 5, "old"));
  const std::span<const VariableEntry> entries = job.map().entries();
  const ShardMap next =
      ShardMap::Make(2, job.map().version() + 1, 2,
                     std::vector<VariableEntry>(entries.begin(), entries.end()),
                     job.map().next_id())
          .value();
  ASSERT_OK(job.Run(job.chief(),
                    job.chief().Install(next, 1, 7, std::chrono::seconds(30),
                                        nullptr, "begins")));
  for (uint32_t server = 0; server < 2; ++server) {
    const StoreReport report = job.Status(server);
    EXPECT_EQ(report.fence.generation, 2u);
    EXPECT_EQ(report.watermark, 7u);
    EXPECT_EQ(report.record, "begins");
    EXPECT_EQ(report.last_step, 0u);
  }
}

TEST(RecordTest, TheLastStepIsTheHighestOfAllShards) {
  ParameterJob job({.servers = 2});
  VariableSpec sync = Spec("s", {4});
  sync.update = Sync{.replicas = 1};
  ASSERT_OK(job.Create({Spec("w", {4}), sync}, FixedShards(2)));
  EXPECT_EQ(job.Status(0).last_step, 0u);
  const std::vector<float> ones(4, 1);
  const auto push = [&](const std::string& name, uint64_t step) {
    UpdateId id;
    id.fence = job.fence();
    id.step = step;
    id.round = name == "s" ? 1 : 0;
    return Push(job, job.chief(), id, name, ones);
  };
  ASSERT_OK(push("w", 3));
  ASSERT_OK(push("w", 2));
  EXPECT_EQ(job.Status(0).last_step, 3u);
  EXPECT_EQ(job.Status(1).last_step, 3u);
  ASSERT_OK(push("s", 9));  // waits for its round
  EXPECT_EQ(job.Status(0).last_step, 9u);
  // It is remembered when the variable is gone.
  ASSERT_OK(job.Drop({"s"}));
  EXPECT_EQ(job.Status(0).last_step, 9u);
}

}  // namespace
}  // namespace capstan

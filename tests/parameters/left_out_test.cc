// A job that goes on without one of its servers, which is still there with the
// variables of before: nobody may have anything from it.
#include <gtest/gtest.h>

#include "parameters/helpers.h"
#include "testing/parameter_job.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::ParameterJob;
using testing::Push;
using testing::Spec;

// `a` on three servers, with other values than at first; then the next
// generation begins without `left_out`.
class LeftOutTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  LeftOutTest() : job_({.servers = 3}), worker_(job_.NewClient()) {
    EXPECT_OK(job_.Create({Spec("a", {6})}, FixedShards(3)));
    EXPECT_OK(job_.Run(worker_, worker_.Refresh()));
    EXPECT_OK(Push(job_, job_.chief(), job_.NextStep(), "a",
                   std::vector<float>(6, 1)));
    map_ = PlaceAnew(job_.map(), 2, {GetParam()}).value();
    fence_ = {.generation = 2, .term = 1};
    EXPECT_OK(job_.Run(chief(), chief().Install(map_, 1, 10)));
    asked_ = job_.Requests(GetParam());
  }

  ParameterClient& chief() { return job_.chief(); }

  absl::StatusOr<std::vector<float>> Pull(ParameterClient& client) {
    std::vector<float> values(6, -1);
    PullItem item;
    item.variable = map_.Find("a")->id;
    item.into = testing::BytesOf(values);
    CAPSTAN_RETURN_IF_ERROR(job_.Run(client, client.Pull(std::span(&item, 1))));
    return values;
  }

  absl::StatusOr<UpdateResult> Update(ParameterClient& client) {
    const std::vector<float> gradient(6, 1);
    const DenseItem item = testing::Dense(map_.Find("a")->id, gradient);
    const UpdateId id = {.fence = fence_, .step = 11};
    return job_.Run(
        client, client.Update(id, Operation::kAdd, std::span(&item, 1), {}));
  }

  ParameterJob job_;
  ParameterClient& worker_;
  ShardMap map_;
  Fence fence_;
  uint64_t asked_ = 0;
};

TEST_P(LeftOutTest, TheCoordinatorDoesNotAskIt) {
  const UpdateOptions options;
  EXPECT_OK(Update(chief()));
  EXPECT_THAT(Pull(chief()), testing::IsOkAndHolds(std::vector<float>(6, 1)));
  WatermarkRequest watermark;
  watermark.fence = fence_;
  watermark.watermark = 11;
  EXPECT_OK(job_.Run(chief(), chief().SetWatermark(watermark, options)));
  RoundRequest round;
  round.fence = fence_;
  round.round = 1;
  EXPECT_OK(job_.Run(chief(), chief().Commit(round, options)));
  SnapshotRequest snapshot;
  snapshot.fence = fence_;
  snapshot.save_id = 5;
  const absl::StatusOr<std::vector<SnapshotReply>> replies =
      job_.Run(chief(), chief().Snapshot(snapshot, options));
  ASSERT_OK(replies.status());
  ASSERT_EQ(replies->size(), 3u);
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*replies)[i].shards.empty(), i == GetParam());
    EXPECT_TRUE((*replies)[i].copied);
  }
  EXPECT_OK(job_.Run(chief(), chief().SnapshotDrop(snapshot, options)));
  EXPECT_OK(job_.Run(chief(), chief().Refresh()));
  EXPECT_EQ(job_.Requests(GetParam()), asked_);
}

// Its client knows the map of before, and may ask the left-out server first.
TEST_P(LeftOutTest, AWorkerFindsTheOthers) {
  EXPECT_OK(
      job_.Run(worker_, worker_.Refresh(std::chrono::seconds(30), nullptr, 2)));
  EXPECT_EQ(worker_.map()->generation(), 2u);
  EXPECT_THAT(worker_.map()->left_out(), ElementsAre(GetParam()));
  EXPECT_THAT(Pull(worker_), testing::IsOkAndHolds(std::vector<float>(6)));
}

// One that is not told which generation it is in is refused by the others.
TEST_P(LeftOutTest, AReadWithTheOldMapHasNothingOfIt) {
  EXPECT_THAT(Pull(worker_),
              testing::StatusIs(absl::StatusCode::kFailedPrecondition,
                                ::testing::HasSubstr("fenced")));
}

TEST_P(LeftOutTest, AnUpdateWithTheOldMapGoesToTheOthers) {
  EXPECT_OK(Update(worker_));
  EXPECT_THAT(Pull(chief()), testing::IsOkAndHolds(std::vector<float>(6, 1)));
}

TEST_P(LeftOutTest, AClientThatKnowsNothingFindsTheOthers) {
  ParameterClient& other = job_.NewClient();
  EXPECT_OK(
      job_.Run(other, other.Refresh(std::chrono::seconds(30), nullptr, 2)));
  EXPECT_THAT(Pull(other), testing::IsOkAndHolds(std::vector<float>(6)));
}

TEST_P(LeftOutTest, AMapThatNobodyHasTimesOut) {
  EXPECT_THAT(job_.Run(worker_, worker_.Refresh(std::chrono::milliseconds(300),
                                                nullptr, 3)),
              testing::StatusIs(absl::StatusCode::kDeadlineExceeded,
                                ::testing::HasSubstr("the job has got to 3")));
}

TEST_P(LeftOutTest, TheOthersSaySo) {
  for (uint32_t i = 0; i < 3; ++i) {
    const StoreReport report = job_.Status(i);
    if (i == GetParam()) {
      EXPECT_EQ(report.fence.generation, 1u);
      EXPECT_THAT(report.left_out, IsEmpty());
    } else {
      EXPECT_EQ(report.fence.generation, 2u);
      EXPECT_THAT(report.left_out, ElementsAre(GetParam()));
    }
  }
}

// In the next generation it has its part again.
TEST_P(LeftOutTest, ItIsTakenBack) {
  const ShardMap back = PlaceAnew(map_, 3, {}).value();
  ASSERT_OK(job_.Run(chief(), chief().Install(back, 1, 20)));
  ASSERT_OK(
      job_.Run(worker_, worker_.Refresh(std::chrono::seconds(30), nullptr, 3)));
  EXPECT_THAT(Pull(worker_), testing::IsOkAndHolds(std::vector<float>(6)));
  EXPECT_EQ(job_.Status(GetParam()).fence.generation, 3u);
  EXPECT_EQ(job_.Status(GetParam()).variables.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Servers, LeftOutTest, ::testing::Values(0, 1, 2));

}  // namespace
}  // namespace capstan

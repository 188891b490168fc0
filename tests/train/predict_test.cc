#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/linear_model.h"

namespace capstan {
namespace {

using testing::PlaneBatches;
using testing::TrainJob;

// In one process, in order.
std::vector<float> ByHand(TrainJob& job, std::int64_t examples) {
  return testing::PredictLinear(job.job().Floats("linear/w"),
                                job.job().Floats("linear/b"),
                                testing::Plane(examples)["x"]);
}

std::vector<float> Floats(const Tensor& tensor) {
  const auto values = tensor.Values<float>();
  return {values.begin(), values.end()};
}

TEST(PredictTest, OutputsAreInTheOrderOfTheData) {
  TrainJob job(PlaneBatches(1003, 7), {.workers = 3});
  job.trainer().Fit(job.data, TrainJob::Quiet({}));
  const Tensor all = job.trainer().Predict(job.data);
  EXPECT_EQ(all.shape(), Shape({1003, 1}));
  EXPECT_EQ(Floats(all), ByHand(job, 1003));
}

TEST(PredictTest, AlsoOfDataWithoutRandomAccess) {
  TrainJob job(PlaneBatches(100, 7).Filter([](const Example&) { return true; }),
               {.workers = 3});
  EXPECT_EQ(Floats(job.trainer().Predict(job.data)), ByHand(job, 100));
  EXPECT_EQ(Floats(job.trainer().Predict(job.data, {.shards = 4})),
            ByHand(job, 100));
}

TEST(PredictTest, StepsLimitIt) {
  TrainJob job(PlaneBatches(100, 10).Repeat(), {.workers = 3});
  EXPECT_EQ(Floats(job.trainer().Predict(job.data, {.steps = 4})),
            ByHand(job, 40));
}

TEST(PredictTest, OfNothingIsNothing) {
  TrainJob job(PlaneBatches(10, 10).Take(0));
  EXPECT_EQ(job.trainer().Predict(job.data).shape(), Shape({0}));
}

}  // namespace
}  // namespace capstan

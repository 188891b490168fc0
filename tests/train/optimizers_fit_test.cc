// Every optimizer, with its slots on the servers, in Fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/linear_model.h"
#include "train/linear_reference.h"

namespace capstan {
namespace {

using testing::PlaneBatches;
using testing::TrainJob;

class OptimizersFitTest : public ::testing::TestWithParam<Optimizer::Rule> {};
INSTANTIATE_TEST_SUITE_P(
    , OptimizersFitTest,
    ::testing::Values(Optimizer::Rule(Sgd{}), Optimizer::Rule(Momentum{}),
                      Optimizer::Rule(Adagrad{}), Optimizer::Rule(Adadelta{}),
                      Optimizer::Rule(RmsProp{}), Optimizer::Rule(Adam{}),
                      Optimizer::Rule(AdamW{}), Optimizer::Rule(Adamax{}),
                      Optimizer::Rule(Nadam{}), Optimizer::Rule(Ftrl{})));

TEST_P(OptimizersFitTest, ThreeStepsAreThoseOfItsArithmetic) {
  Optimizer optimizer;
  optimizer.rule = GetParam();
  // In rounds of one, so that steps follow one another.
  TrainJob job(
      PlaneBatches(24, 8),
      {.trainer = {.optimizer = optimizer, .update = Sync{.replicas = 1}}});
  job.trainer().Fit(job.data, TrainJob::Quiet({}));
  testing::LinearReference reference(optimizer);
  reference.Epoch(ExampleTable::Open(PlaneBatches(24, 8)), 1);
  EXPECT_EQ(job.job().Floats("linear/w"), reference.w.values());
  EXPECT_EQ(job.job().Floats("linear/b"), reference.b.values());
  EXPECT_EQ(job.trainer().iterations(), 3);
}

}  // namespace
}  // namespace capstan

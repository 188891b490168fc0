// Optimizers end to end: on any number of shards the same, with schedules,
// clipping and staleness.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "parameters/helpers.h"

namespace capstan {
namespace {

using testing::BytesOf;
using testing::Dense;
using testing::IsOkAndHolds;
using testing::kLarge;
using testing::ParameterJob;
using testing::Push;
using testing::Rows;
using testing::Scatter;
using testing::SomeGradient;
using testing::Spec;

TEST(OptimizerTest, ShardsMakeNoDifference) {
  const std::vector<Optimizer> optimizers = {
      Sgd{.learning_rate = 0.1},
      Momentum{.learning_rate = 0.1, .nesterov = true},
      Adagrad{.learning_rate = 0.1},
      Adam{.learning_rate = 0.1},
      Adam{.learning_rate = 0.1, .amsgrad = true},
      AdamW{.learning_rate = 0.1},
      RmsProp{.learning_rate = 0.1, .momentum = 0.5, .centered = true},
      Nadam{.learning_rate = 0.1},
      Ftrl{.learning_rate = 0.1, .l1 = 0.01}};
  std::vector<VariableSpec> specs;
  for (size_t i = 0; i < optimizers.size(); ++i) {
    VariableSpec spec = Spec("v" + std::to_string(i), {13, 3});
    spec.optimizer = optimizers[i];
    spec.optimizer->weight_decay = 0.01;
    spec.optimizer->clip_value = 5;
    spec.initializer = Uniform{.seed = i};
    specs.push_back(spec);
  }
  ParameterJob one;
  ParameterJob three({.servers = 3});
  ASSERT_OK(one.Create(specs, FixedShards(1)));
  ASSERT_OK(three.Create(specs, FixedShards(3)));
  // Rows on all three shards of 5, 4 and 4 rows.
  const std::vector<int64_t> ids = {12, 0, 7, 12, 4, 5, 9};
  for (uint64_t step = 1; step <= 6; ++step) {
    for (const VariableSpec& spec : specs) {
      for (ParameterJob* job : {&one, &three}) {
        if (step % 2 == 1) {
          ASSERT_OK(Push(*job, job->chief(), job->NextStep(), spec.name,
                         SomeGradient(step, 39)));
        } else {
          ASSERT_OK(Scatter(*job, job->chief(), job->NextStep(), spec.name, ids,
                            SomeGradient(step, 3 * ids.size())));
        }
      }
    }
  }
  for (const VariableSpec& spec : specs) {
    EXPECT_EQ(one.Read(spec.name).value(), three.Read(spec.name).value())
        << spec.name;
  }
}

TEST(OptimizerTest, TheRateFollowsTheNumberOfUpdates) {
  VariableSpec spec = Spec("w", {2});
  spec.optimizer = Sgd{.learning_rate = PiecewiseConstant{
                           .boundaries = {1, 2}, .values = {1, 10, 100}}};
  ParameterJob job({.servers = 2});
  ASSERT_OK(job.Create({spec}, FixedShards(2)));
  const std::vector<float> ones(2, 1);
  float expected = 0;
  for (const float rate : {1.0f, 1.0f, 10.0f, 100.0f, 100.0f}) {
    const UpdateId id = job.NextStep();
    ASSERT_OK(Push(job, job.chief(), id, "w", ones));
    // A duplicate is no update.
    ASSERT_OK(Push(job, job.chief(), id, "w", ones));
    expected -= rate;
    EXPECT_THAT(job.Read("w"), IsOkAndHolds(std::vector<float>(2, expected)));
    // Nor is an assignment.
    ASSERT_OK(Push(job, job.chief(), job.NextStep(), "w",
                   std::vector<float>(2, expected), Operation::kSet));
  }
}

TEST(OptimizerTest, ANormIsThatOfAllShards) {
  VariableSpec spec = Spec("w", {4});
  spec.optimizer->clip_norm = 5;
  ParameterJob job({.servers = 4});
  ASSERT_OK(job.Create({spec}, FixedShards(4)));
  // Of norm 10, so halved; then of norm 1, and left alone.
  ASSERT_OK(Push(job, job.chief(), job.NextStep(), "w",
                 std::vector<float>{1, 1, 7, 7}));
  EXPECT_THAT(job.Read("w"),
              IsOkAndHolds(std::vector<float>{-0.5, -0.5, -3.5, -3.5}));
  ASSERT_OK(Push(job, job.chief(), job.NextStep(), "w",
                 std::vector<float>{0.5, 0.5, 0.5, 0.5}));
  EXPECT_THAT(job.Read("w"), IsOkAndHolds(std::vector<float>{-1, -1, -4, -4}));
}

TEST(OptimizerTest, ANormOfRowsIsThatOfTheirSums) {
  VariableSpec spec = Spec("w", {4});
  spec.optimizer->clip_norm = 5;
  ParameterJob job({.servers = 2});
  ASSERT_OK(job.Create({spec}, FixedShards(2)));
  // 6 and 8 in sum: of norm 10.
  ASSERT_OK(Scatter(job, job.chief(), job.NextStep(), "w", {0, 3, 0},
                    std::vector<float>{2, 8, 4}));
  EXPECT_THAT(job.Read("w"), IsOkAndHolds(std::vector<float>{-3, 0, 0, -4}));
}

TEST(OptimizerTest, AGlobalNormIsThatOfAllVariables) {
  VariableSpec a = Spec("a", {2});
  a.optimizer->global_clip_norm = 5;
  VariableSpec b = Spec("b", {3});
  b.optimizer->global_clip_norm = 5;
  b.optimizer->clip_norm = 2;
  VariableSpec c = Spec("c", {1});  // not clipped, but its norm counts
  ParameterJob job({.servers = 2});
  ASSERT_OK(job.Create({a, b, c}, FixedShards(2)));
  const std::vector<float> ga = {1, 1};
  const std::vector<int64_t> ids = {2, 0};
  const std::vector<float> gb = {7, 0};
  const std::vector<float> gc = {7};
  const std::vector<DenseItem> dense = {Dense(job.Id("a"), ga),
                                        Dense(job.Id("c"), gc)};
  const RowsItem rows = Rows(job.Id("b"), ids, gb);
  ParameterClient& client = job.chief();
  ASSERT_OK(job.Run(client, client.Update(job.NextStep(), Operation::kGradient,
                                          dense, std::span(&rows, 1))));
  // The norm of all is 10: halved.
  EXPECT_THAT(job.Read("a"), IsOkAndHolds(std::vector<float>{-0.5, -0.5}));
  // And from 3.5 to 2.
  EXPECT_EQ(job.Read("b").value()[0], 0);
  EXPECT_NEAR(job.Read("b").value()[2], -2, 1e-6);
  EXPECT_THAT(job.Read("c"), IsOkAndHolds(std::vector<float>{-7}));
}

TEST(OptimizerTest, StalenessIsCountedAndSlowsDown) {
  VariableSpec spec = Spec("w", {2});
  spec.optimizer->staleness_power = 1;
  ParameterJob job({.servers = 2});
  ASSERT_OK(job.Create({spec}, FixedShards(2)));
  ParameterClient& client = job.chief();
  std::vector<float> values(2);
  ShardVersions have;
  PullItem item;
  item.variable = job.Id("w");
  item.into = BytesOf(values);
  item.have = &have;
  ASSERT_OK(job.Run(client, client.Pull(std::span(&item, 1))));
  const std::vector<float> gradient(2, 12);
  // From the newest values; then from those that have missed 1, 2, 3 updates.
  float expected = 0;
  for (const float divisor : {1.0f, 2.0f, 3.0f, 4.0f}) {
    ASSERT_OK(Push(job, client, job.NextStep(), "w", gradient,
                   Operation::kGradient, &have));
    expected -= 12 / divisor;
    EXPECT_THAT(job.Read("w"), IsOkAndHolds(std::vector<float>(2, expected)));
  }
  // Without a version nothing is known.
  ASSERT_OK(Push(job, client, job.NextStep(), "w", gradient));
  expected -= 12;
  EXPECT_THAT(job.Read("w"), IsOkAndHolds(std::vector<float>(2, expected)));
  StalenessHistogram histogram{};
  histogram[0] = 1;
  histogram[1] = 1;
  histogram[2] = 2;
  EXPECT_EQ(job.Report("w", 0).staleness, histogram);
  EXPECT_EQ(job.Report("w", 1).staleness, histogram);
}

// Large gradients are applied in another way.
TEST(OptimizerTest, StalenessOfLargeGradients) {
  VariableSpec spec = Spec("w", {kLarge});
  spec.optimizer->staleness_power = 1;
  ParameterJob job;
  ASSERT_OK(job.Create({spec}));
  const ShardVersions have = {.generation = 1, .versions = {1}};
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(Push(job, job.chief(), job.NextStep(), "w",
                   std::vector<float>(kLarge, 4), Operation::kGradient, &have));
  }
  EXPECT_EQ(job.Read("w")->back(), -6);
  StalenessHistogram histogram{};
  histogram[0] = 1;
  histogram[1] = 1;
  EXPECT_EQ(job.Report("w").staleness, histogram);
}

}  // namespace
}  // namespace capstan

// NaNs in the loss and in gradients of modules: the error names where, and
// TorchOptions::non_finite makes it something else than an error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "capstan/callback.h"
#include "capstan/error.h"
#include "torch/models.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Make;
using ::testing::Not;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr int64_t kNanBatches = 8;
constexpr int64_t kBad = 5;  // counted from 0

// An embedding and a parameter. For an input of 0 the output is finite, but not
// the gradient of the parameter.
struct Both : torch::nn::Module {
  explicit Both(std::optional<NonFinite> of_table)
      : table(register_module(
            "table", Embedding(4, 2, Ones{}, std::nullopt, of_table))) {}
  torch::Tensor forward(const torch::Tensor& x) {
    const torch::Tensor ids = torch::zeros({x.size(0)}, torch::kInt64);
    return (weight * x).sqrt() + table->forward(ids).sum(1);
  }
  torch::Tensor weight = register_parameter("weight", torch::ones({1}));
  Embedding table;
};

// One example per batch, 1 but for the bad one.
Dataset NanBatches(float bad) {
  Tensor x = Tensor::Zeros(DType::kF32, {kNanBatches});
  for (float& value : x.MutableValues<float>()) value = 1;
  x.MutableValues<float>()[kBad] = bad;
  return Dataset::FromTensors(
             {{"x", x}, {"y", Tensor::Zeros(DType::kF32, {kNanBatches})}})
      .Batch(1);
}

struct NanJob {
  NanJob(float bad, NonFinite non_finite,
         std::optional<NonFinite> of_table = std::nullopt, int servers = 1)
      : model(AddModel(program, "both",
                       [of_table] { return std::make_shared<Both>(of_table); },
                       {.non_finite = non_finite})),
        data(program.AddDataset(
            "data", [bad](const InputContext&) { return NanBatches(bad); })),
        cluster(program, 1, servers),
        trainer(cluster.cluster(), model,
                {.optimizer = Sgd{.learning_rate = 0.01}}) {}

  std::string ErrorOfFit(FitOptions options) {
    options.verbose = Verbose::kSilent;
    try {
      trainer.Fit(data, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      return error.what();
    }
    return "";
  }

  float Weight() {
    return trainer.coordinator().Read("both/weight").Values<float>()[0];
  }

  Definitions program;
  TorchModel<Both> model;
  DatasetHandle data;
  LocalCluster cluster;
  Trainer trainer;
};

TEST(NonFiniteTest, TheErrorNamesLossVariableEpochAndBatch) {
  for (const int servers : {1, 2}) {
    NanJob job(kNan, NonFinite::kRefuse, std::nullopt, servers);
    EXPECT_THAT(job.ErrorOfFit({.epochs = 3}),
                AllOf(HasSubstr("epoch 1/3, batch 6/8: "),
                      HasSubstr("the loss is NaN; "),
                      HasSubstr("variable 'both/weight', shard 0: "),
                      HasSubstr("the gradient has a NaN or infinity")));
  }
}

// sqrt(0) is finite, and its derivative infinite.
TEST(NonFiniteTest, OrTheGradientAlone) {
  NanJob job(0, NonFinite::kRefuse);
  EXPECT_THAT(job.ErrorOfFit({.epochs = 1}),
              AllOf(HasSubstr("epoch 1/1, batch 6/8: "), Not(HasSubstr("loss")),
                    HasSubstr("variable 'both/weight', shard 0: the gradient "
                              "has a NaN or infinity in row 0")));
}

TEST(NonFiniteTest, OfAStepWithSeveralBatchesAllAreNamed) {
  NanJob job(kNan, NonFinite::kRefuse);
  EXPECT_THAT(job.ErrorOfFit({.epochs = 1, .steps_per_execution = 3}),
              HasSubstr("epoch 1/1, batches 4-6/8: "));
}

TEST(NonFiniteTest, SkippedUpdatesLeaveTheValuesFinite) {
  NanJob job(kNan, NonFinite::kSkip);
  EXPECT_EQ(job.ErrorOfFit({.epochs = 2}), "");
  EXPECT_TRUE(std::isfinite(job.Weight()));
  EXPECT_EQ(job.trainer.iterations(), 2 * kNanBatches);
}

TEST(NonFiniteTest, TerminateOnNanEndsTheTraining) {
  for (const NonFinite policy : {NonFinite::kSkip, NonFinite::kAccept}) {
    NanJob job(kNan, policy);
    EXPECT_EQ(job.ErrorOfFit({.epochs = 100, .callbacks = {TerminateOnNaN()}}),
              "");
    // The steps that were handed out are done.
    EXPECT_LT(job.trainer.iterations(), 100 * kNanBatches);
    EXPECT_GT(job.trainer.iterations(), kBad);
    EXPECT_EQ(std::isfinite(job.Weight()), policy == NonFinite::kSkip);
  }
}

TEST(NonFiniteTest, AnEmbeddingMayHaveItsOwn) {
  NanJob job(kNan, NonFinite::kSkip, NonFinite::kRefuse);
  EXPECT_THAT(job.ErrorOfFit({}), HasSubstr("variable 'both/table.weight'"));
  NanJob other(kNan, NonFinite::kRefuse, NonFinite::kSkip);
  EXPECT_THAT(other.ErrorOfFit({}), HasSubstr("variable 'both/weight'"));
}

}  // namespace
}  // namespace capstan

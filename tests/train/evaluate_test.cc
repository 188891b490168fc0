#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/linear_model.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::IsError;
using testing::PlaneBatches;
using testing::TrainJob;

const std::vector<MetricSpec> kMetrics = {RootMeanSquaredError{}, Mean{},
                                          BinaryAccuracy{.from_logits = false},
                                          Auc{.from_logits = true}};

EvaluateOptions Quiet(EvaluateOptions options = {}) {
  options.verbose = Verbose::kSilent;
  return options;
}

// In one process: the batches of a piece one after the other, and the pieces
// added up in their order.
std::map<std::string, double> ByHand(TrainJob& job, std::int64_t examples,
                                     std::int64_t batch, std::int64_t pieces) {
  const std::vector<float> w = job.job().Floats("linear/w");
  const std::vector<float> b = job.job().Floats("linear/b");
  const ExampleTable table = ExampleTable::Open(PlaneBatches(examples, batch));
  double loss = 0;
  double weight = 0;
  std::vector<std::unique_ptr<MetricState>> sums;
  for (const MetricSpec& metric : kMetrics) {
    sums.push_back(MakeMetric(metric, MeanSquaredError{}));
  }
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < pieces; ++i) {
    const std::int64_t end =
        at + table.size() / pieces + (i < table.size() % pieces ? 1 : 0);
    double piece_loss = 0;
    double piece_weight = 0;
    std::vector<std::unique_ptr<MetricState>> states;
    for (const MetricSpec& metric : kMetrics) {
      states.push_back(MakeMetric(metric, MeanSquaredError{}));
    }
    for (; at < end; ++at) {
      const Example element = table.At(at);
      const Tensor y = element["y"];
      const std::vector<float> out = testing::PredictLinear(w, b, element["x"]);
      for (std::size_t k = 0; k < out.size(); ++k) {
        const double error = static_cast<double>(out[k]) -
                             static_cast<double>(y.Values<float>()[k]);
        piece_loss += error * error;
        piece_weight += 1;
      }
      const Tensor predictions =
          Tensor::FromValues({static_cast<std::int64_t>(out.size())}, out);
      for (const auto& state : states) {
        state->Update({y.view(), predictions.view(), {}});
      }
    }
    loss += piece_loss;
    weight += piece_weight;
    for (std::size_t k = 0; k < states.size(); ++k) {
      sums[k]->Merge(states[k]->State());
    }
  }
  std::map<std::string, double> result = {{"loss", loss / weight}};
  for (std::size_t k = 0; k < sums.size(); ++k) {
    result[NameOf(kMetrics[k])] = sums[k]->Result();
  }
  return result;
}

class EvaluateTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Workers, EvaluateTest, ::testing::Values(1, 2, 5));

TEST_P(EvaluateTest, IsExactlyWhatOneProcessComputes) {
  TrainJob job(PlaneBatches(1003, 7),
               {.workers = GetParam(), .trainer = {.metrics = kMetrics}});
  job.trainer().Fit(job.data, TrainJob::Quiet({}));
  EXPECT_EQ(job.trainer().Evaluate(job.data, Quiet()),
            ByHand(job, 1003, 7, 64));
  EXPECT_EQ(job.trainer().Evaluate(job.data, Quiet({.shards = 3})),
            ByHand(job, 1003, 7, 3));
}

TEST(EvaluateTest, DataWithoutRandomAccessIsReadAsAWhole) {
  const Dataset stream =
      PlaneBatches(100, 7).Filter([](const Example&) { return true; });
  TrainJob job(stream, {.workers = 3, .trainer = {.metrics = kMetrics}});
  const DatasetHandle table = job.AddData("table", PlaneBatches(100, 7));
  const auto by_stream = job.trainer().Evaluate(job.data, Quiet({.shards = 4}));
  const auto by_table = job.trainer().Evaluate(table, Quiet());
  ASSERT_EQ(by_stream.size(), by_table.size());
  for (const auto& [name, value] : by_table) {
    EXPECT_NEAR(by_stream.at(name), value, 1e-12) << name;
  }
  // Counts do not depend on the order.
  EXPECT_EQ(by_stream.at("binary_accuracy"), by_table.at("binary_accuracy"));
  EXPECT_EQ(by_stream.at("auc"), by_table.at("auc"));
}

TEST(EvaluateTest, WithoutAnEndItNeedsTheNumberOfSteps) {
  TrainJob job(PlaneBatches(100, 10).Repeat());
  const DatasetHandle first = job.AddData("first", PlaneBatches(30, 10));
  EXPECT_THAT(ErrorOf([&] { job.trainer().Evaluate(job.data, Quiet()); }),
              IsError(ErrorCode::kInvalidArgument,
                      AllOf(HasSubstr("no end"), HasSubstr("`steps`"))));
  EXPECT_EQ(job.trainer().Evaluate(job.data, Quiet({.steps = 3, .shards = 1})),
            job.trainer().Evaluate(first, Quiet({.shards = 1})));
}

TEST(EvaluateTest, StepsLimitDataOfAKnownSize) {
  TrainJob job(PlaneBatches(100, 10));
  const DatasetHandle first = job.AddData("first", PlaneBatches(30, 10));
  EXPECT_EQ(job.trainer().Evaluate(job.data, Quiet({.steps = 3})),
            job.trainer().Evaluate(first, Quiet()));
}

TEST(EvaluateTest, NoBatchIsAnError) {
  TrainJob job(PlaneBatches(10, 10).Take(0));
  EXPECT_THAT(ErrorOf([&] { job.trainer().Evaluate(job.data, Quiet()); }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("no batch")));
}

TEST(EvaluateTest, ChangesNothing) {
  TrainJob job(PlaneBatches(100, 10));
  const std::map<std::string, Tensor> before = job.trainer().Values();
  job.trainer().Evaluate(job.data, Quiet());
  EXPECT_EQ(job.trainer().Values(), before);
  EXPECT_EQ(job.trainer().iterations(), 0);
}

}  // namespace
}  // namespace capstan

// Fit: which data is used, how often, and what is set aside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <set>
#include <sstream>

#include "train/linear_model.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::IsError;
using testing::PlaneBatches;
using ::testing::SizeIs;
using testing::TrainJob;

// Counts by their "id" what steps are given. Thread-safe.
struct Seen {
  std::mutex mutex;
  std::map<std::int64_t, int> times;

  // A map over batches that counts them, as the last operation of a dataset.
  Dataset Counting(const Dataset& data) {
    return data.Map([this](const Example& batch) {
      const Tensor ids = batch["id"];
      const std::lock_guard lock(mutex);
      for (const std::int64_t id : ids.Values<std::int64_t>()) ++times[id];
      return batch;
    });
  }
};

TEST(FitDataTest, EachElementIsUsedOncePerEpoch) {
  Seen seen;
  TrainJob job(seen.Counting(Dataset::FromTensors(testing::Plane(100))
                                 .Shuffle(100, {.seed = 7})
                                 .Batch(8)),
               {.workers = 3});
  job.trainer().Fit(job.data, TrainJob::Quiet({.epochs = 4}));
  EXPECT_THAT(seen.times, SizeIs(100));
  for (const auto& [id, times] : seen.times) EXPECT_EQ(times, 4) << id;
}

// The ids of the batches that are read, in their order, by one worker.
struct InOrder {
  std::mutex mutex;
  std::vector<std::int64_t> ids;

  Dataset Recording(const Dataset& data) {
    return data.Map([this](const Example& batch) {
      const Tensor read = batch["id"];
      const std::lock_guard lock(mutex);
      for (const std::int64_t id : read.Values<std::int64_t>()) {
        ids.push_back(id);
      }
      return batch;
    });
  }
};

TEST(FitDataTest, WithoutASeedTheOrderIsDrawnForAllWorkers) {
  Seen seen;
  TrainJob job(
      seen.Counting(
          Dataset::FromTensors(testing::Plane(100)).Shuffle(100).Batch(8)),
      {.workers = 3});
  job.trainer().Fit(job.data, TrainJob::Quiet({.epochs = 4}));
  EXPECT_THAT(seen.times, SizeIs(100));
  for (const auto& [id, times] : seen.times) EXPECT_EQ(times, 4) << id;
}

TEST(FitDataTest, WithoutASeedNoTwoEpochsFitsOrJobsHaveTheSameOrder) {
  constexpr int kShuffled = 40;
  std::set<std::vector<std::int64_t>> orders;
  for (int i = 0; i < 2; ++i) {
    InOrder read;
    TrainJob job(read.Recording(Dataset::FromTensors(testing::Plane(kShuffled))
                                    .Shuffle(kShuffled)
                                    .Batch(8)),
                 {.workers = 1});
    for (int fit = 0; fit < 2; ++fit) {
      job.trainer().Fit(job.data, TrainJob::Quiet({.epochs = 2}));
    }
    ASSERT_THAT(read.ids, SizeIs(4 * kShuffled));
    for (auto at = read.ids.begin(); at != read.ids.end(); at += kShuffled) {
      orders.emplace(at, at + kShuffled);
    }
  }
  EXPECT_THAT(orders, SizeIs(8));
}

TEST(FitDataTest, WithoutAnEndItNeedsTheNumberOfSteps) {
  TrainJob job(PlaneBatches(100, 8).Repeat());
  EXPECT_THAT(
      ErrorOf([&] { job.trainer().Fit(job.data); }),
      IsError(ErrorCode::kInvalidArgument,
              AllOf(HasSubstr("Repeat"), HasSubstr("set steps_per_epoch"))));
  job.trainer().Fit(job.data, TrainJob::Quiet({.steps_per_epoch = 3}));
  EXPECT_EQ(job.trainer().iterations(), 3);
}

TEST(FitDataTest, AnIteratorGoesOnFromEpochToEpoch) {
  Seen seen;
  TrainJob job(seen.Counting(PlaneBatches(40, 4)), {.workers = 1});
  job.trainer().Fit(job.data,
                    TrainJob::Quiet({.epochs = 2, .steps_per_epoch = 5}));
  EXPECT_THAT(seen.times, SizeIs(40));
}

TEST(FitDataTest, DataThatRunsOutEndsTheTrainingWithAWarning) {
  TrainJob job(PlaneBatches(40, 8), {.workers = 1});
  std::ostringstream warnings;
  FitOptions options = {.epochs = 5, .steps_per_epoch = 3};
  options.verbose = Verbose::kSilent;
  options.terminal.warnings = &warnings;
  const History history = job.trainer().Fit(job.data, options);
  EXPECT_EQ(job.trainer().iterations(), 5);
  EXPECT_THAT(history.epochs(), ElementsAre(0, 1));
  EXPECT_THAT(warnings.str(),
              AllOf(HasSubstr("ran out of data"), HasSubstr("15")));
}

TEST(FitDataTest, ASplitIsValidatedAndNotTrainedOn) {
  std::mutex mutex;
  std::set<std::int64_t> trained;
  std::set<std::int64_t> validated;
  class Recording : public testing::LinearReplica {
   public:
    Recording(std::mutex& mutex, std::set<std::int64_t>& trained,
              std::set<std::int64_t>& validated)
        : mutex_(mutex), trained_(trained), validated_(validated) {}
    void Train(WorkerContext& worker, const StepConfig& order,
               const NextBatch& next,
               std::span<const std::unique_ptr<MetricState>> metrics,
               StepReport& report) override {
      LinearReplica::Train(worker, order, Into(next, trained_), metrics,
                           report);
    }
    void Evaluate(WorkerContext& worker, const StepConfig& order,
                  const NextBatch& next,
                  std::span<const std::unique_ptr<MetricState>> metrics,
                  StepReport& report) override {
      LinearReplica::Evaluate(worker, order, Into(next, validated_), metrics,
                              report);
    }

   private:
    NextBatch Into(const NextBatch& next, std::set<std::int64_t>& ids) {
      return [this, &next, &ids] {
        std::optional<Example> batch = next();
        if (batch) {
          const Tensor id = (*batch)["id"];
          const std::lock_guard lock(mutex_);
          for (const std::int64_t i : id.Values<std::int64_t>()) ids.insert(i);
        }
        return batch;
      };
    }
    std::mutex& mutex_;
    std::set<std::int64_t>& trained_;
    std::set<std::int64_t>& validated_;
  };
  Definitions definitions;
  const Model model =
      AddModel(definitions, {.name = "linear", .make = [&] {
                               return std::make_unique<Recording>(
                                   mutex, trained, validated);
                             }});
  // A shuffle, which must not bring them together.
  const DatasetHandle data = testing::AddData(
      definitions, "data",
      Dataset::FromTensors(testing::Plane(80)).Shuffle(80).Batch(8));
  testing::Job cluster(definitions, 2, 1);
  Trainer trainer(cluster.local.cluster(), model,
                  {.optimizer = Sgd{.learning_rate = 0.05}});
  const History history = trainer.Fit(
      data, TrainJob::Quiet({.epochs = 3, .validation_split = 0.25}));
  EXPECT_EQ(trainer.iterations(), 3 * 7);
  EXPECT_THAT(trained, SizeIs(56));
  EXPECT_THAT(validated, SizeIs(24));
  for (const std::int64_t id : validated) EXPECT_FALSE(trained.contains(id));
  EXPECT_THAT(history["val_loss"], SizeIs(3));
}

TEST(FitDataTest, ValidationIsWhatEvaluateSays) {
  TrainJob job(PlaneBatches(80, 8));
  const DatasetHandle other = job.AddData("other", PlaneBatches(31, 4));
  const History history = job.trainer().Fit(
      job.data,
      TrainJob::Quiet(
          {.epochs = 4, .validation_data = other, .validation_freq = 2}));
  EXPECT_THAT(history["val_loss"], SizeIs(2));
  EXPECT_EQ(
      history["val_loss"][1],
      job.trainer().Evaluate(other, {.verbose = Verbose::kSilent}).at("loss"));
  EXPECT_THAT(history.ToCsv(), HasSubstr("epoch,loss,val_loss\n0,"));
}

}  // namespace
}  // namespace capstan

// What a callback saves of the values in the middle of an epoch is one moment
// between two steps, or two rounds, on all servers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "testing/temp_dir.h"
#include "train/linear_model.h"

namespace capstan {
namespace {

using ::testing::Each;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::Job;
using ::testing::Not;
using testing::PlaneBatches;
using testing::TempDir;

constexpr std::int64_t kRows = 9;
constexpr std::int64_t kBatches = 120;
constexpr int kReplicas = 3;

// Every step takes 1 from all elements, so that all are the same between steps.
class EvenReplica : public ModelReplica {
 public:
  explicit EvenReplica(bool in_two) : in_two_(in_two) {}

  std::vector<ModelVariable> Variables() override {
    return {{.spec = {.name = "even/a", .shape = {kRows, 2}},
             .initial = Tensor::Zeros(DType::kF32, {kRows, 2})},
            {.spec = {.name = "even/b", .shape = {kRows, 2}},
             .initial = Tensor::Zeros(DType::kF32, {kRows, 2})}};
  }
  void Train(WorkerContext& worker, const StepConfig& /*order*/,
             const NextBatch& next,
             std::span<const std::unique_ptr<MetricState>> /*metrics*/,
             StepReport& report) override {
    const Tensor ones =
        Tensor::FromValues({kRows, 2}, std::vector<float>(kRows * 2, 1.0f));
    while (next()) {
      if (in_two_) {
        // Between them the step is half done.
        worker.ApplyGradients({{"even/a", ones}});
        worker.ApplyGradients({{"even/b", ones}});
      } else {
        worker.ApplyGradients({{"even/a", ones}, {"even/b", ones}});
      }
      ++report.batches;
      ++report.examples;
      report.weight_sum += 1;
    }
  }
  void Evaluate(WorkerContext& /*worker*/, const StepConfig& /*order*/,
                const NextBatch& /*next*/,
                std::span<const std::unique_ptr<MetricState>> /*metrics*/,
                StepReport& /*report*/) override {}
  void Predict(WorkerContext& /*worker*/, const StepConfig& /*order*/,
               const NextBatch& /*next*/,
               const std::function<void(Tensor)>& /*give*/) override {}

 private:
  const bool in_two_;
};

class UntornValuesTest : public ::testing::TestWithParam<bool> {};

TEST_P(UntornValuesTest, EverySaveIsOneMoment) {
  const bool sync = GetParam();
  const TempDir dir;
  Definitions definitions;
  const Model model =
      AddModel(definitions, {.name = "even", .make = [sync] {
                               return std::make_unique<EvenReplica>(!sync);
                             }});
  const DatasetHandle data =
      testing::AddData(definitions, "data", PlaneBatches(kBatches, 1));
  Job job(definitions, kReplicas, 3);
  TrainerOptions options;
  options.optimizer = Sgd{.learning_rate = 1.0};
  options.partitioner = FixedShards(3);
  if (sync) options.update = Sync{.replicas = kReplicas};
  Trainer trainer(job.local.cluster(), model, options);
  FitOptions fit;
  fit.verbose = Verbose::kSilent;
  fit.callbacks = {ModelCheckpoint(dir / "{batch}", {.save_freq = 1})};
  trainer.Fit(data, fit);
  EXPECT_EQ(trainer.iterations(), kBatches);

  for (std::int64_t batch = 1; batch <= kBatches; ++batch) {
    SCOPED_TRACE(batch);
    trainer.Load(dir / (std::to_string(batch) + ".safetensors"));
    const std::int64_t trained = trainer.iterations();
    EXPECT_GE(trained, batch);
    const std::int64_t steps = sync ? trained / kReplicas : trained;
    const std::map<std::string, Tensor> values = trainer.Values();
    for (const char* name : {"even/a", "even/b"}) {
      EXPECT_THAT(values.at(name).Values<float>(),
                  Each(-static_cast<float>(steps)))
          << name;
    }
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, UntornValuesTest, ::testing::Bool());

TEST(ModelCheckpointTest, AStepThatFailsIsTheErrorAndNotAWarning) {
  const TempDir dir;
  Definitions definitions;
  const Model model = testing::AddLinearModel(definitions);
  const DatasetHandle data =
      definitions.AddDataset("data", [](const InputContext&) {
        return PlaneBatches(400, 8).Map([](const Example& batch) {
          if (batch["id"].Values<std::int64_t>()[0] == 20 * 8) {
            throw std::runtime_error("boom");
          }
          return batch;
        });
      });
  for (const char* path : {"files/{batch}", "checkpoints"}) {
    SCOPED_TRACE(path);
    Job job(definitions, 2, 2);
    Trainer trainer(job.local.cluster(), model,
                    {.optimizer = Sgd{.learning_rate = 0.05}});
    FitOptions fit;
    fit.verbose = Verbose::kSilent;
    fit.callbacks = {ModelCheckpoint(dir / path, {.save_freq = 1})};
    ::testing::internal::CaptureStderr();
    const Error error = ErrorOf([&] { trainer.Fit(data, fit); });
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                Not(HasSubstr("ModelCheckpoint")));
    EXPECT_THAT(std::string(error.message()), HasSubstr("boom"));
  }
}

}  // namespace
}  // namespace capstan

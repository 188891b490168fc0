// Trains two models in turns, with all that a program may do besides: values
// and rates of its own, schedules, a Fit that is stopped early. Prints what
// came of it, which is the same whatever dies meanwhile.
//
//   two_models_program EVERY
//
// Fit saves a checkpoint every EVERY steps, if the job has a directory for
// them.
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

#include "capstan/coordinator.h"
#include "capstan/program.h"
#include "capstan/trainer.h"
#include "train/linear_replica.h"

namespace capstan {
namespace {

constexpr int kReplicas = 3;
constexpr std::int64_t kBatches = 121;  // the last round is not full
constexpr std::int64_t kBatchSize = 8;
// What a batch takes: so that there is a middle of it to be killed in.
constexpr std::chrono::milliseconds kBatchTime(1);

// The linear model, at the pace of a larger one.
class SlowReplica : public testing::LinearReplica {
 public:
  using LinearReplica::LinearReplica;
  void Train(WorkerContext& worker, const StepConfig& order,
             const NextBatch& next,
             std::span<const std::unique_ptr<MetricState>> metrics,
             StepReport& report) override {
    const NextBatch slowly = [&] {
      worker.SleepFor(kBatchTime);
      return next();
    };
    LinearReplica::Train(worker, order, slowly, metrics, report);
  }
};

Model AddSlowModel(Definitions& program, const std::string& name) {
  return AddModel(program, {.name = name, .make = [name] {
                              return std::make_unique<SlowReplica>(name);
                            }});
}

void Print(const std::string& name, const std::string& value) {
  std::cout << "result " << name << " " << value << std::endl;
}

// To the last bit.
void PrintModel(Trainer& trainer) {
  std::string text;
  for (const auto& [name, value] : trainer.Values()) {
    text += name + "=";
    for (const std::byte byte : value.view().bytes()) {
      char hex[3];
      std::snprintf(hex, sizeof(hex), "%02x", std::to_integer<unsigned>(byte));
      text += hex;
    }
    text += ",";
  }
  Print(trainer.model().name(),
        text + "rate=" + std::to_string(trainer.learning_rate()));
}

void PrintHistory(const std::string& name, const History& history) {
  std::string text;
  for (const int epoch : history.epochs()) text += std::to_string(epoch) + ",";
  for (const auto& [series, values] : history.series()) text += series + ",";
  Print(name, text);
}

// Something that does not get better.
CallbackHandle Worse() {
  return LambdaCallback(
      {.on_epoch_end = [](int epoch, Logs& logs) { logs["worse"] = epoch; }});
}

void Body(Cluster& cluster, const Model& model_a, const Model& model_b,
          const DatasetHandle& data, std::int64_t every) {
  TrainerOptions options;
  options.optimizer = Adam{.learning_rate = 0.05};
  options.update = Sync{.replicas = kReplicas};
  // That workers die again and again is no step's fault here.
  const ClusterCoordinator coordinator(cluster, {.max_lost_workers = 1000});
  FitOptions fit;
  fit.checkpoint.every_steps = every;
  fit.checkpoint.every_epochs = 0;
  fit.verbose = Verbose::kLinePerEpoch;
  Trainer a(coordinator, model_a, options);
  a.SetValues(
      {{"a/w", Tensor::FromValues({testing::kFeatures}, {3.0f, -2.0f, 5.0f})},
       {"a/b", Tensor::FromValues({1}, {7.0f})}});
  a.SetLearningRate(0.04);
  fit.epochs = 3;
  fit.callbacks = {
      LearningRateScheduler([](int, double rate) { return rate * 0.9; })};
  PrintHistory("first", a.Fit(data, fit));
  // A model that is made later.
  Trainer b(coordinator, model_b, options);
  EarlyStoppingOptions patience;
  patience.monitor = "worse";
  patience.mode = MonitorMode::kMin;
  patience.patience = 1;
  patience.restore_best_weights = false;
  fit.epochs = 20;
  fit.callbacks = {Worse(), EarlyStopping(patience)};
  PrintHistory("second", b.Fit(data, fit));
  a.SetLearningRate(0.03);
  ReduceLROnPlateauOptions plateau;
  plateau.monitor = "worse";
  plateau.mode = MonitorMode::kMin;
  plateau.patience = 1;
  plateau.factor = 0.5;
  fit.epochs = 3;
  fit.callbacks = {Worse(), ReduceLROnPlateau(plateau)};
  PrintHistory("third", a.Fit(data, fit));
  PrintModel(a);
  PrintModel(b);
}

int Main(int argc, char** argv) {
  if (argc < 2) throw std::invalid_argument("two_models_program EVERY");
  const std::int64_t every = std::stoll(argv[1]);
  Program program(argc, argv);
  const Model a = AddSlowModel(program, "a");
  const Model b = AddSlowModel(program, "b");
  const DatasetHandle data =
      program.AddDataset("data", [](const InputContext&) {
        return testing::PlaneBatches(kBatches * kBatchSize - 3, kBatchSize);
      });
  return program.Run(
      [&](Cluster& cluster) { Body(cluster, a, b, data, every); });
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) { return capstan::Main(argc, argv); }

// Trains, evaluates and asks a small model, and prints what came of it, to the
// last bit.
//
//   train_program sync|async FOLDER [PHASE=N ...] [every=N] [wait=N]
//   [silence=N]
//
// PHASE is fit, evaluate or predict. When step N of Fit has ended, or piece N
// of the others, and at the end of each phase, the coordinator prints "at PHASE
// N" and waits for a file PHASE-N in FOLDER. With every=N, Fit saves a
// checkpoint every N steps, if the job has a directory for them. With wait=N,
// it waits N ms for a lost server, and goes on without it; with silence=N, a
// server that does not answer is lost after N ms. Its epochs are logged in
// log.csv and log.jsonl in FOLDER. It prints
//
//   begins N                iterations that were done before this coordinator
//   first N                 the first step of Fit that it has seen the end of
//   result NAME VALUE       the same whatever dies, but in async training only
//                           the number of iterations, how many the servers
//                           have applied, and the sum of the squares of the
//                           numbers of all examples in those: each of them
//                           once in each epoch
//   reference VALUE         the parameters that one process computes: k batches
//                           make a step, their gradients added up in order
//   retries PHASE NUMBER    functions that were given to another worker
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "capstan/coordinator.h"
#include "capstan/program.h"
#include "capstan/trainer.h"
#include "train/linear_reference.h"
#include "train/linear_replica.h"

namespace capstan {
namespace {

constexpr int kReplicas = 3;
constexpr int kEpochs = 3;
constexpr std::int64_t kTrainBatches = 301;  // the last round is not full
constexpr std::int64_t kTestBatches = 1203;
constexpr int kPieces = 150;
constexpr std::int64_t kBatchSize = 8;
// What a batch takes: long enough that workers are killed in the middle of it.
constexpr std::chrono::milliseconds kBatchTime(1);
constexpr std::chrono::milliseconds kLook(1);
const Adam kAdam{.learning_rate = 0.05};
constexpr char kApplied[] = "applied";

// Every worker makes it anew.
Dataset Batches(std::int64_t batches) {
  // The last batch has fewer examples.
  return testing::PlaneBatches(batches * kBatchSize - 3, kBatchSize);
}

// The same examples, in orders that the job draws.
Dataset ShuffledBatches(std::int64_t batches) {
  const std::int64_t examples = batches * kBatchSize - 3;
  return Dataset::FromTensors(testing::Plane(examples))
      .Shuffle(examples)
      .Batch(kBatchSize);
}

// The linear model, at the pace of a larger one.
class SlowReplica : public testing::LinearReplica {
 public:
  void Train(WorkerContext& worker, const StepConfig& order,
             const NextBatch& next,
             std::span<const std::unique_ptr<MetricState>> metrics,
             StepReport& report) override {
    std::int64_t squares = 0;
    const NextBatch counted = [&] {
      std::optional<Example> batch = next();
      if (batch) {
        const Tensor ids = (*batch)["id"];
        for (const auto id : ids.Values<std::int64_t>()) squares += id * id;
      }
      return batch;
    };
    LinearReplica::Train(worker, order, Slowly(worker, counted), metrics,
                         report);
    // Counted by the servers too, which know what they have applied.
    worker.Add(kApplied, Tensor::FromValues({2}, {std::int64_t{1}, squares}));
  }
  void Evaluate(WorkerContext& worker, const StepConfig& order,
                const NextBatch& next,
                std::span<const std::unique_ptr<MetricState>> metrics,
                StepReport& report) override {
    LinearReplica::Evaluate(worker, order, Slowly(worker, next), metrics,
                            report);
  }
  void Predict(WorkerContext& worker, const StepConfig& order,
               const NextBatch& next,
               const std::function<void(Tensor)>& give) override {
    LinearReplica::Predict(worker, order, Slowly(worker, next), give);
  }

 private:
  static NextBatch Slowly(WorkerContext& worker, const NextBatch& next) {
    return [&worker, &next] {
      worker.SleepFor(kBatchTime);
      return next();
    };
  }
};

// Says where the job is, and waits until it may go on.
class Stops : public Callback {
 public:
  explicit Stops(std::filesystem::path folder) : folder_(std::move(folder)) {}

  void Add(const std::string& phase, std::int64_t step) {
    stops_[phase].insert(step);
  }

  void OnEpochBegin(int epoch, Logs&) override { epoch_ = epoch; }
  void OnTrainBatchEnd(std::int64_t batch, Logs&) override {
    const std::int64_t step = epoch_ * kTrainBatches + batch;
    if (!std::exchange(begun_, true)) {
      std::cout << "first " << step << std::endl;
    }
    StopAt("fit", step);
  }
  void OnTestBatchEnd(std::int64_t batch, Logs&) override {
    StopAt("evaluate", batch);
  }
  void OnPredictBatchEnd(std::int64_t batch, Logs&) override {
    StopAt("predict", batch);
  }

 private:
  void StopAt(const std::string& phase, std::int64_t step) {
    const std::int64_t last =
        phase == "fit" ? kEpochs * kTrainBatches - 1 : kPieces - 1;
    if (step != last && !stops_[phase].contains(step)) return;
    const std::string number = std::to_string(step);
    std::cout << "at " << phase << " " << number << std::endl;
    while (!std::filesystem::exists(folder_ / (phase + "-" + number))) {
      std::this_thread::sleep_for(kLook);
    }
  }

  const std::filesystem::path folder_;
  std::map<std::string, std::set<std::int64_t>> stops_;
  std::int64_t epoch_ = 0;
  bool begun_ = false;
};

// FNV-1a.
std::string HashOf(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte byte : bytes) {
    hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
  }
  char text[17];
  std::snprintf(text, sizeof(text), "%016" PRIx64, hash);
  return text;
}

// What it is to the last bit.
std::string Exactly(double number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%a", number);
  return text;
}

void PrintResult(const std::string& name, const std::string& value) {
  std::cout << "result " << name << " " << value << std::endl;
}

void PrintReference() {
  testing::LinearReference reference(kAdam);
  const ExampleTable table = ExampleTable::Open(Batches(kTrainBatches));
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    reference.Epoch(table, kReplicas);
  }
  std::cout << "reference "
            << HashOf(std::as_bytes(std::span(reference.w.values()))) << "-"
            << HashOf(std::as_bytes(std::span(reference.b.values())))
            << std::endl;
}

// Prints how many functions were given to another worker since the last time.
class Retries {
 public:
  explicit Retries(Trainer& trainer) : trainer_(trainer) {}
  void Print(const std::string& phase) {
    const std::uint64_t now = trainer_.coordinator().Status().retries;
    std::cout << "retries " << phase << " " << now - before_ << std::endl;
    before_ = now;
  }

 private:
  Trainer& trainer_;
  std::uint64_t before_ = 0;
};

void Fit(Trainer& trainer, const DatasetHandle& data,
         const CallbackHandle& stops, const FitCheckpoint& checkpoint,
         const std::filesystem::path& folder) {
  FitOptions options;
  options.epochs = kEpochs;
  options.callbacks = {stops, CSVLogger(folder / "log.csv"),
                       JSONLogger(folder / "log.jsonl")};
  options.verbose = Verbose::kSilent;
  options.checkpoint = checkpoint;
  const History history = trainer.Fit(data, options);
  PrintResult("iterations", std::to_string(trainer.iterations()));
  const Tensor applied = trainer.coordinator().Read(kApplied);
  PrintResult(kApplied, std::to_string(applied.Values<std::int64_t>()[0]));
  PrintResult("squares", std::to_string(applied.Values<std::int64_t>()[1]));
  for (const auto& [name, series] : history.series()) {
    for (const double value : series) PrintResult(name, Exactly(value));
  }
  const std::map<std::string, Tensor> values = trainer.Values();
  PrintResult("parameters", HashOf(values.at("linear/w").view().bytes()) + "-" +
                                HashOf(values.at("linear/b").view().bytes()));
}

void Evaluate(Trainer& trainer, const DatasetHandle& data,
              const CallbackHandle& stops) {
  const std::map<std::string, double> logs = trainer.Evaluate(
      data,
      {.shards = kPieces, .callbacks = {stops}, .verbose = Verbose::kSilent});
  for (const auto& [name, value] : logs) {
    PrintResult("test_" + name, Exactly(value));
  }
}

void Predict(Trainer& trainer, const DatasetHandle& data,
             const CallbackHandle& stops) {
  const Tensor outputs =
      trainer.Predict(data, {.shards = kPieces, .callbacks = {stops}});
  PrintResult("predictions",
              outputs.shape().ToString() + HashOf(outputs.view().bytes()));
}

struct Arguments {
  std::shared_ptr<Stops> stops;
  FitCheckpoint checkpoint;
  // It is not a step's fault here that workers keep dying.
  CoordinatorOptions coordinator = {.max_lost_workers = 1000};
};

Arguments ReadArguments(int argc, char** argv) {
  Arguments arguments;
  arguments.stops = std::make_shared<Stops>(argv[2]);
  for (int i = 3; i < argc; ++i) {
    const std::string text = argv[i];
    const std::string name = text.substr(0, text.find('='));
    const std::int64_t number = std::stoll(text.substr(name.size() + 1));
    if (name == "every") {
      arguments.checkpoint.every_steps = number;
    } else if (name == "wait") {
      arguments.checkpoint.server_timeout = std::chrono::milliseconds(number);
    } else if (name == "silence") {
      arguments.coordinator.server_timeout = std::chrono::milliseconds(number);
    } else {
      arguments.stops->Add(name, number);
    }
  }
  return arguments;
}

int Main(int argc, char** argv) {
  if (argc < 3) throw std::invalid_argument("train_program sync|async FOLDER");
  const bool sync = argv[1] == std::string("sync");
  const Arguments arguments = ReadArguments(argc, argv);
  const std::shared_ptr<Stops>& stops = arguments.stops;
  Program program(argc, argv);
  const Model model = AddModel(
      program, {.name = "linear",
                .make = [] { return std::make_unique<SlowReplica>(); }});
  const DatasetHandle train =
      program.AddDataset("train", [sync](const InputContext&) {
        // The reference has an order of its own.
        return sync ? Batches(kTrainBatches) : ShuffledBatches(kTrainBatches);
      });
  const DatasetHandle test = program.AddDataset(
      "test", [](const InputContext&) { return Batches(kTestBatches); });
  return program.Run([&](Cluster& cluster) {
    TrainerOptions options;
    options.optimizer = kAdam;
    options.metrics = {RootMeanSquaredError{}, Auc{.from_logits = true}};
    if (sync) options.update = Sync{.replicas = kReplicas};
    ClusterCoordinator coordinator(cluster, arguments.coordinator);
    coordinator.CreateVariables({{.name = kApplied,
                                  .shape = {2},
                                  .dtype = DType::kI64,
                                  .trainable = false}});
    Trainer trainer(coordinator, model, options);
    std::cout << "begins " << trainer.iterations() << std::endl;
    Retries retries(trainer);
    Fit(trainer, train, stops, arguments.checkpoint, argv[2]);
    retries.Print("fit");
    Evaluate(trainer, test, stops);
    retries.Print("evaluate");
    Predict(trainer, test, stops);
    retries.Print("predict");
    if (sync) PrintReference();
  });
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) { return capstan::Main(argc, argv); }

// Custom data and a custom loop, from docs/tutorial.md: what does a ride cost?
//
//   rides FILE.csv [fit|loop]
#include <capstan/program.h>
#include <capstan/torch.h>
#include <capstan/trainer.h>

#include <cstdio>
#include <string>
#include <vector>

namespace cs = capstan;

constexpr int kEpochs = 20;
constexpr int kBatches = 40;

cs::Dataset Rides(const std::string& file) {
  using Kind = cs::CsvColumn::Kind;
  return cs::Dataset::Csv(
      file, {.columns = {
                 {.name = "zone", .kind = Kind::kHash, .buckets = 1'000},
                 {.name = "km", .output = "numbers", .mean = 6, .stddev = 4},
                 {.name = "hour", .output = "numbers", .mean = 12, .stddev = 7},
                 {.name = "price"}}});
}

struct Price : torch::nn::Module {
  torch::Tensor forward(const cs::TorchBatch& ride) {
    const torch::Tensor zone = zones->forward(ride["zone"]);
    const torch::Tensor x = torch::cat({zone, ride["numbers"]}, 1);
    return out->forward(torch::relu(hidden->forward(x))).squeeze(1);
  }
  cs::Embedding zones = register_module("zones", cs::Embedding(1'000, 4));
  torch::nn::Linear hidden =
      register_module("hidden", torch::nn::Linear(4 + 2, 32));
  torch::nn::Linear out = register_module("out", torch::nn::Linear(32, 1));
};

// One step of the loop: batch number `range.begin` of epoch `range.epoch`.
double TrainStep(cs::WorkerContext& worker,
                 cs::PerWorker<cs::Replicas<Price>> replicas,
                 cs::PerWorker<cs::LazyTable> rides, cs::DataRange range) {
  const cs::Example batch = rides->Get().At(range.begin, range.epoch);
  const std::string input = "numbers";
  return replicas->Step(worker, [&](Price& model) {
    const cs::TorchBatch ride(batch, input);
    const torch::Tensor error = model.forward(ride) - ride["price"];
    return error.abs().mean();
  });
}

int main(int argc, char** argv) {
  cs::Program program(argc, argv);
  if (argc < 2) {
    std::fprintf(stderr, "usage: rides FILE.csv [fit|loop]\n");
    return 2;
  }
  const std::string file = argv[1];
  const bool loop = argc > 2 && std::string(argv[2]) == "loop";
  auto model = cs::AddModel(program, "price", [] {
    torch::manual_seed(1);
    return std::make_shared<Price>();
  });
  auto train = program.AddDataset("train", [file](const cs::InputContext&) {
    return Rides(file).Skip(200).Shuffle(10'000).Batch(20);
  });
  auto test = program.AddDataset("test", [file](const cs::InputContext&) {
    return Rides(file).Take(200).Batch(100);
  });
  auto step = program.AddFunction("train_step", TrainStep);

  return program.Run([&](cs::Cluster& cluster) {
    cs::Trainer trainer(cluster, model,
                        {.optimizer = cs::Adam{.learning_rate = 0.01},
                         .loss = cs::MeanAbsoluteError{}});
    if (!loop) {
      trainer.Fit(train, {.epochs = kEpochs, .target = "price"});
    } else {
      cs::ClusterCoordinator& coordinator = trainer.coordinator();
      auto replicas = coordinator.CreatePerWorkerResource(model.replicas());
      auto rides = coordinator.CreatePerWorkerResource(train.table());
      cs::DataRanges batches({.examples = kBatches, .shuffle = true});
      while (batches.epoch() < kEpochs) {
        std::vector<cs::RemoteValue<double>> losses;
        while (auto range = batches.Next()) {
          losses.push_back(
              coordinator.Schedule(step, replicas, rides, *std::move(range)));
        }
        coordinator.Join();
        double sum = 0;
        for (const double loss : coordinator.Fetch(losses)) sum += loss;
        std::printf("epoch %d: loss %.3f\n", static_cast<int>(batches.epoch()),
                    sum / kBatches);
      }
    }
    const auto result = trainer.Evaluate(test, {.target = "price"});
    std::printf("mean error %.2f\n", result.at("loss"));
  });
}

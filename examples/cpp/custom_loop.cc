// The custom training loop: linear regression with a known answer.
//
//   custom_loop [EPOCHS]                      all in this process
//   capstan run -w 4 -s 2 -- custom_loop      as separate processes
//
// The coordinator cuts the examples into ranges and schedules a step for each.
// Workers may die during training, and so may the coordinator, if something
// restarts it (capstan run --max-restarts 1000): each step has a key, and
// complete steps are skipped, so every example is still used once per epoch.
#include <capstan/coordinator.h>
#include <capstan/program.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

namespace cs = capstan;

constexpr int kFeatures = 8;
constexpr std::int64_t kExamples = 10'000;
constexpr std::int64_t kBatch = 50;

// Feature f of example i. The true weights are 1, 2, 3, ...
float Feature(std::int64_t i, int f) {
  return static_cast<float>(std::sin(1.7 * static_cast<double>(i) * (f + 1)));
}

// Applies the gradient of the mean squared error of examples [begin, end), and
// returns the error.
double TrainStep(cs::WorkerContext& worker, cs::DataRange range) {
  const cs::Tensor weights = worker.Read("weights");
  const auto w = weights.Values<float>();
  std::vector<float> gradient(kFeatures, 0.0f);
  const auto size = static_cast<float>(range.size());
  double loss = 0;
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    float error = 0;
    for (int f = 0; f < kFeatures; ++f) {
      error += (w[f] - static_cast<float>(f + 1)) * Feature(i, f);
    }
    for (int f = 0; f < kFeatures; ++f) {
      gradient[f] += 2 * error * Feature(i, f) / size;
    }
    loss += error * error / size;
  }
  worker.ApplyGradients(
      {{"weights", cs::Tensor::FromValues({kFeatures}, gradient)}});
  worker.Add("steps", cs::Tensor::Scalar<std::int64_t>(1));
  worker.Add("examples", cs::Tensor::Scalar<std::int64_t>(range.size()));
  return loss;
}

// The position of the range among those of all epochs: the same in every run.
cs::StepKey KeyOf(const cs::DataRange& range) {
  constexpr std::uint64_t kPerEpoch = kExamples / kBatch;
  return {range.epoch * kPerEpoch + range.index};
}

int main(int argc, char** argv) {
  const auto epochs = static_cast<unsigned>(argc > 1 ? std::atoi(argv[1]) : 3);
  cs::Program program(argc, argv);
  auto step = program.AddFunction("train_step", TrainStep);
  return program.Run([&](cs::Cluster& cluster) {
    cs::ClusterCoordinator coordinator(cluster);
    coordinator.CreateVariables(
        {{.name = "weights",
          .shape = {kFeatures},
          .optimizer = cs::Sgd{.learning_rate = 0.01}},
         {.name = "steps", .shape = {}, .dtype = cs::DType::kI64},
         {.name = "examples", .shape = {}, .dtype = cs::DType::kI64}});
    cs::DataRanges ranges(
        {.examples = kExamples, .batch = kBatch, .shuffle = true});
    std::optional<cs::RemoteValue<double>> loss;
    while (ranges.epoch() < epochs) {
      loss.reset();
      while (auto range = ranges.Next()) {
        const cs::StepKey key = KeyOf(range->range());
        if (coordinator.IsComplete(key)) {
          range->Done();
        } else {
          loss = coordinator.Schedule(key, step, *std::move(range));
        }
      }
      coordinator.Join();
      if (!loss) continue;  // an earlier coordinator did it
      std::printf("epoch %d: loss %.6f\n", static_cast<int>(ranges.epoch()),
                  loss->Fetch());
      std::fflush(stdout);
    }
    const auto values = coordinator.ReadAll({"weights", "steps", "examples"});
    for (const float w : values[0].Values<float>()) std::printf("%.3f ", w);
    std::printf("after %d steps on %d examples\n",
                static_cast<int>(values[1].Values<std::int64_t>()[0]),
                static_cast<int>(values[2].Values<std::int64_t>()[0]));
  });
}

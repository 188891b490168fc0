// A job of some servers goes on as one of any other number.
#include <cmath>
#include <optional>

#include "coordinator/checkpoint_helpers.h"

namespace capstan {
namespace {

using ::testing::IsEmpty;
using testing::Job;
using testing::SavedState;
using testing::SaveIn;
using testing::TempDir;

constexpr int kReshardReplicas = 2;
constexpr int kRoundsBefore = 3;
constexpr int kRoundsAfter = 3;

std::vector<VariableSpec> Specs() {
  std::vector<VariableSpec> specs;
  const std::vector<std::pair<std::string, Optimizer>> rules = {
      {"adam", Adam{.learning_rate = 0.05}},
      {"momentum", Momentum{.learning_rate = 0.1}},
      {"ftrl", Ftrl{.learning_rate = 0.1, .l1 = 0.01}},
      {"nadam", Nadam{.learning_rate = 0.05}}};
  for (const auto& [name, optimizer] : rules) {
    for (const std::int64_t rows : {1, 7, 10, 1001}) {
      specs.push_back({.name = name + "/" + std::to_string(rows),
                       .shape = {rows, 3},
                       .initializer = Uniform{-1, 1},
                       .optimizer = optimizer,
                       .update = Sync{.replicas = kReshardReplicas}});
    }
  }
  specs.push_back({.name = "scalar",
                   .shape = {},
                   .initializer = Ones{},
                   .optimizer = Adam{},
                   .update = Sync{.replicas = kReshardReplicas}});
  return specs;
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const VariableSpec& spec : Specs()) names.push_back(spec.name);
  return names;
}

// A gradient that depends on all that was before, and on which step it is.
void Step(WorkerContext& worker, std::int64_t number) {
  std::vector<VariableUpdate> updates;
  const std::vector<Tensor> values = worker.ReadAll(Names());
  for (std::size_t i = 0; i < values.size(); ++i) {
    Tensor gradient = Tensor::Zeros(DType::kF32, values[i].shape());
    const auto from = values[i].Values<float>();
    const auto to = gradient.MutableValues<float>();
    for (std::size_t k = 0; k < to.size(); ++k) {
      to[k] = 0.5f * from[k] +
              std::sin(static_cast<float>(number) + static_cast<float>(k));
    }
    updates.push_back({Names()[i], gradient});
  }
  worker.ApplyGradients(updates);
}

// How the variables are cut on so many servers: otherwise for each number.
Partitioner CutFor(int servers) {
  switch (servers) {
    case 1:
      return FixedShards(3);
    case 2:
      return MinSize(64, 5);
    case 3:
      return MaxSize(100, 40);
    case 4:
      return FixedShards(4);
    default:
      return [](const Shape& shape, DType) {
        return shape[0] < 10 ? shape[0] : 7;
      };
  }
}

class ReshardTest : public ::testing::Test {
 protected:
  ReshardTest() { step_ = definitions_.AddFunction("step", Step); }

  void Create(Job& job, int servers) const {
    job.coordinator.CreateVariables(Specs(), CutFor(servers));
  }
  void Train(Job& job, int first_round, int rounds) const {
    for (int i = 0; i < rounds * kReshardReplicas; ++i) {
      job.coordinator.Schedule(*step_, first_round * kReshardReplicas + i);
    }
    job.coordinator.Join();
  }

  Definitions definitions_;
  std::optional<Function<void, std::int64_t>> step_;
};

TEST_F(ReshardTest, TrainingGoesOnIdentically) {
  const TempDir dir;
  const std::string expected_before = dir / "before";
  const std::string expected_after = dir / "after";
  {
    Job job(definitions_, kReshardReplicas, 2);
    Create(job, 2);
    Train(job, 0, kRoundsBefore);
    SaveIn(job.coordinator, expected_before);
    Train(job, kRoundsBefore, kRoundsAfter);
    SaveIn(job.coordinator, expected_after);
  }
  const SavedState before(expected_before, "ckpt-1");
  const SavedState after(expected_after, "ckpt-1");
  EXPECT_NE(after.DifferenceFrom(before), "");
  for (const int saved_by : {1, 2, 3, 4}) {
    const std::string from = dir / std::to_string(saved_by);
    {
      Job job(definitions_, kReshardReplicas, saved_by);
      Create(job, saved_by);
      Train(job, 0, kRoundsBefore);
      EXPECT_EQ(SaveIn(job.coordinator, from).DifferenceFrom(before), "");
    }
    for (const int restored_by : {1, 2, 3, 5}) {
      SCOPED_TRACE(std::to_string(saved_by) + " to " +
                   std::to_string(restored_by) + " servers");
      Job job(definitions_, kReshardReplicas, restored_by);
      Create(job, restored_by);
      const RestoreReport report =
          CheckpointManager(job.coordinator, from).Restore();
      EXPECT_EQ(report.restored.size(), Specs().size());
      EXPECT_THAT(report.without_slots, IsEmpty());
      const std::string to = from + "-" + std::to_string(restored_by);
      EXPECT_EQ(SaveIn(job.coordinator, to).DifferenceFrom(before), "");
      Train(job, kRoundsBefore, kRoundsAfter);
      EXPECT_EQ(SaveIn(job.coordinator, to).DifferenceFrom(after), "");
    }
  }
}

}  // namespace
}  // namespace capstan

// A checkpoint is one moment between two steps, on all servers, however hard
// the training is that goes on meanwhile.
#include <map>
#include <set>

#include "coordinator/checkpoint_helpers.h"
#include "optimizer/updater.h"

namespace capstan {
namespace {

using ::testing::Each;
using testing::Job;
using testing::SavedState;
using testing::TempDir;

constexpr int kSaves = 200;
constexpr int kStepsPerSave = 6;
constexpr std::int64_t kRows = 9;

struct Trained {
  std::string name;
  Optimizer optimizer;
  bool by_rows = false;
};

std::vector<Trained> AllTrained() {
  return {{.name = "sgd", .optimizer = Sgd{.learning_rate = 1.0}},
          {.name = "momentum",
           .optimizer = Momentum{.learning_rate = 0.5, .momentum = 0.5}},
          {.name = "adam", .optimizer = Adam{.learning_rate = 0.01}},
          {.name = "adam_rows",
           .optimizer = Adam{.learning_rate = 0.01},
           .by_rows = true},
          {.name = "momentum_rows",
           .optimizer = Momentum{.learning_rate = 0.5, .momentum = 0.5},
           .by_rows = true}};
}

// An element after each number of updates by a gradient of 1: as every step
// does the same to all elements, this is what all of them must be.
class Course {
 public:
  explicit Course(const Optimizer& optimizer)
      : updater_(*Updater::Make(optimizer)) {
    Element first;
    for (const SlotInfo& slot : updater_->slots()) {
      first.slots.push_back(slot.initial);
    }
    elements_.push_back(std::move(first));
  }

  struct Element {
    float value = 0;
    std::vector<float> slots;  // in the order of the updater
  };
  const Element& After(std::uint64_t updates) {
    while (elements_.size() <= updates) {
      Element next = elements_.back();
      const float gradient = 1;
      DenseUpdate update;
      update.gradient = std::as_bytes(std::span(&gradient, 1)).data();
      update.size = 1;
      update.value_in = update.value_out = &next.value;
      for (std::size_t i = 0; i < next.slots.size(); ++i) {
        update.slots_in[i] = update.slots_out[i] = &next.slots[i];
      }
      updater_->Dense(updater_->Begin(state_, 1, 0), update);
      updater_->Advance(state_);
      elements_.push_back(std::move(next));
    }
    return elements_[updates];
  }

 private:
  const std::unique_ptr<const Updater> updater_;
  OptimizerState state_;
  std::vector<Element> elements_;
};

void UntornStep(WorkerContext& worker) {
  const Tensor ones =
      Tensor::FromValues({kRows, 2}, std::vector<float>(kRows * 2, 1.0f));
  std::vector<std::int64_t> ids;
  // The last first, so that the parts for the servers are of rows apart.
  for (std::int64_t i = kRows; i > 0; --i) ids.push_back(i - 1);
  std::vector<VariableUpdate> whole;
  std::vector<VariableUpdate> rows;
  for (const Trained& one : AllTrained()) {
    if (one.by_rows) {
      rows.push_back({one.name, ones, Tensor::FromValues({kRows}, ids)});
    } else {
      whole.push_back({one.name, ones});
    }
  }
  // Two updates: between them a step is half done.
  worker.ApplyGradients(whole);
  worker.ApplyGradients(rows);
}

TEST(UntornTest, TwoHundredCheckpointsOfAsynchronousTraining) {
  const TempDir dir;
  Definitions definitions;
  const auto step = definitions.AddFunction("step", UntornStep);
  Job job(definitions, 3, 3);
  std::vector<VariableSpec> specs;
  for (const Trained& one : AllTrained()) {
    specs.push_back(
        {.name = one.name, .shape = {kRows, 2}, .optimizer = one.optimizer});
  }
  job.coordinator.CreateVariables(specs, FixedShards(4));
  CheckpointManager manager(job.coordinator, dir.path(), {.max_to_keep = 0});
  // There is always something to run, and each save finds the workers at it.
  for (int i = 0; i < 20; ++i) job.coordinator.Schedule(step);
  for (int i = 0; i < kSaves; ++i) {
    for (int s = 0; s < kStepsPerSave; ++s) job.coordinator.Schedule(step);
    manager.Save();
  }
  job.coordinator.Join();
  manager.Save();
  manager.Wait();

  std::map<std::string, Course> courses;
  for (const Trained& one : AllTrained()) {
    courses.try_emplace(one.name, one.optimizer);
  }
  const std::vector<std::string> names = manager.checkpoints();
  ASSERT_EQ(names.size(), kSaves + 1u);
  std::uint64_t before = 0;
  std::set<std::uint64_t> moments;
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const SavedState saved(dir.path(), name);
    const Manifest& manifest = saved.manifest();
    const std::uint64_t applied = manifest.step + manifest.applied_above.size();
    EXPECT_GE(applied, before);
    before = applied;
    moments.insert(applied);
    for (auto& [variable, course] : courses) {
      SCOPED_TRACE(variable);
      const SavedVariable& shards = saved.Find(variable);
      ASSERT_EQ(shards.shards.size(), 4u);
      for (const SavedShard& shard : shards.shards) {
        EXPECT_EQ(shard.updates, applied);
      }
      const Course::Element& element = course.After(applied);
      EXPECT_THAT(saved.Floats(variable), Each(element.value));
      for (std::size_t i = 0; i < shards.slots.size(); ++i) {
        EXPECT_THAT(saved.Floats(variable, shards.slots[i]),
                    Each(element.slots[i]))
            << shards.slots[i];
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_EQ(before, 20u + kSaves * kStepsPerSave);
  // Training went on between them.
  EXPECT_GT(moments.size(), kSaves / 4u);
}

}  // namespace
}  // namespace capstan

// Saving and restoring through the API.
#include "coordinator/checkpoint_helpers.h"

namespace capstan {
namespace {

using testing::Door;
using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsError;
using testing::Job;
using testing::NamesIn;
using testing::None;
using testing::SavedState;
using testing::SaveIn;
using testing::TempDir;

// Bytes that differ from element to element, and are valid for all dtypes.
Tensor Pattern(DType dtype, const Shape& shape, unsigned seed) {
  Tensor tensor = Tensor::Zeros(dtype, shape);
  unsigned state = seed * 2654435761u + 1;
  for (std::byte& byte : tensor.mutable_view().mutable_bytes()) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>((state >> 24) &
                                  (dtype == DType::kBool ? 1u : 63u));
  }
  return tensor;
}

std::vector<VariableSpec> AllKinds() {
  return {
      {.name = "f32", .shape = {11, 3}},
      {.name = "f64", .shape = {7}, .dtype = DType::kF64},
      {.name = "f16", .shape = {5, 1}, .dtype = DType::kF16},
      {.name = "bf16", .shape = {3}, .dtype = DType::kBF16},
      {.name = "i32", .shape = {9}, .dtype = DType::kI32},
      {.name = "i64", .shape = {}, .dtype = DType::kI64},
      {.name = "u8", .shape = {2, 3, 5}, .dtype = DType::kU8},
      {.name = "bool", .shape = {13}, .dtype = DType::kBool},
      {.name = "empty", .shape = {0, 4}},
      {.name = "flat", .shape = {4, 0}},
      // More than a piece of a file or of a request.
      {.name = "large", .shape = {70'001, 40}},
      {.name = "unset", .shape = {6}, .initializer = Unset{}},
  };
}

TEST(CheckpointTest, AllKindsOfVariablesComeBackInAnotherCluster) {
  const TempDir dir;
  {
    Job job(None(), 1, 2);
    job.coordinator.CreateVariables(AllKinds(), FixedShards(3));
    for (const VariableSpec& spec : AllKinds()) {
      if (spec.shape.num_elements() == 0) continue;
      job.coordinator.Assign(spec.name, Pattern(spec.dtype, spec.shape, 7));
    }
    SaveIn(job.coordinator, dir.path()).Verify();
  }
  EXPECT_THAT(NamesIn(dir.path()), ElementsAre("ckpt-1"));
  Job job(None(), 1, 3);
  job.coordinator.CreateVariables(AllKinds(), FixedShards(5));
  CheckpointManager manager(job.coordinator, dir.path());
  EXPECT_EQ(manager.latest(), "ckpt-1");
  const RestoreReport report = manager.Restore();
  EXPECT_EQ(report.name, "ckpt-1");
  EXPECT_EQ(report.restored.size(), AllKinds().size());
  EXPECT_THAT(report.missing, IsEmpty());
  EXPECT_THAT(report.unexpected, IsEmpty());
  EXPECT_THAT(report.damaged, IsEmpty());
  for (const VariableSpec& spec : AllKinds()) {
    EXPECT_EQ(job.coordinator.Read(spec.name),
              Pattern(spec.dtype, spec.shape, 7))
        << spec.name;
  }
}

// Every rule that remembers something.
std::vector<VariableSpec> TrainedSpecs(const Shape& shape) {
  return {
      {.name = "sgd", .shape = shape, .optimizer = Sgd{}},
      {.name = "momentum", .shape = shape, .optimizer = Momentum{}},
      {.name = "adagrad", .shape = shape, .optimizer = Adagrad{}},
      {.name = "adam", .shape = shape, .optimizer = Adam{}},
      {.name = "amsgrad", .shape = shape, .optimizer = Adam{.amsgrad = true}},
      {.name = "nadam", .shape = shape, .optimizer = Nadam{}},
      {.name = "ftrl", .shape = shape, .optimizer = Ftrl{.l1 = 0.01}},
      {.name = "decaying",
       .shape = shape,
       .optimizer = Sgd{.learning_rate = ExponentialDecay{.steps = 2}}}};
}

Tensor Gradient(const Shape& shape, int step) {
  Tensor tensor = Tensor::Zeros(DType::kF32, shape);
  float x = static_cast<float>(step);
  for (float& value : tensor.MutableValues<float>()) {
    x = x * 0.75f + 0.1f;
    value = x - 0.4f;
  }
  return tensor;
}

// Updates of whole variables and of rows, as a function of the step.
void TrainSteps(ClusterCoordinator& coordinator, const Shape& shape, int first,
                int last) {
  for (int step = first; step < last; ++step) {
    std::vector<VariableUpdate> updates;
    for (const VariableSpec& spec : TrainedSpecs(shape)) {
      updates.push_back({spec.name, Gradient(shape, step)});
    }
    coordinator.Apply(Operation::kGradient, updates);
    const std::vector<std::int64_t> ids = {step % shape[0],
                                           (step + 3) % shape[0]};
    coordinator.Apply(Operation::kGradient,
                      {{"adam", Gradient({2, shape[1]}, step),
                        Tensor::FromValues({2}, ids)}});
  }
}

TEST(CheckpointTest, OptimizersGoOnWhereTheyWere) {
  const TempDir first;
  const TempDir second;
  const Shape shape = {10, 3};
  Job job(None(), 1, 3);
  job.coordinator.CreateVariables(TrainedSpecs(shape), FixedShards(3));
  TrainSteps(job.coordinator, shape, 0, 7);
  const SavedState saved = SaveIn(job.coordinator, first.path());
  EXPECT_EQ(saved.Find("nadam").shards.front().updates, 7u);
  EXPECT_THAT(saved.Find("amsgrad").slots, ::testing::SizeIs(3));

  Job other(None(), 1, 2);
  // Cut in the same way, as rows have had other numbers of updates.
  other.coordinator.CreateVariables(TrainedSpecs(shape), FixedShards(3));
  // Of which nothing may be left.
  TrainSteps(other.coordinator, shape, 100, 103);
  CheckpointManager manager(other.coordinator, first.path());
  EXPECT_THAT(manager.Restore().without_slots, IsEmpty());
  EXPECT_EQ(SaveIn(other.coordinator, second.path()).DifferenceFrom(saved), "");

  TrainSteps(job.coordinator, shape, 7, 12);
  TrainSteps(other.coordinator, shape, 7, 12);
  const SavedState after = SaveIn(job.coordinator, first.path());
  EXPECT_NE(after.DifferenceFrom(saved), "");
  EXPECT_EQ(SaveIn(other.coordinator, second.path()).DifferenceFrom(after), "");
}

TEST(CheckpointTest, WithoutSlotsOptimizersBeginAnew) {
  const TempDir dir;
  const TempDir other_dir;
  const Shape shape = {4, 2};
  Job job(None(), 1, 1);
  job.coordinator.CreateVariables(TrainedSpecs(shape));
  TrainSteps(job.coordinator, shape, 0, 3);
  const Tensor adam = job.coordinator.Read("adam");
  CheckpointManager manager(job.coordinator, dir.path());
  manager.Save();
  TrainSteps(job.coordinator, shape, 3, 5);
  manager.Restore({.slots = false});
  EXPECT_EQ(job.coordinator.Read("adam"), adam);
  const SavedState saved = SaveIn(job.coordinator, other_dir.path());
  EXPECT_EQ(saved.Find("adam").shards[0].updates, 0u);
  for (const std::string& slot : saved.Find("adam").slots) {
    EXPECT_THAT(saved.Floats("adam", slot), ::testing::Each(0.0f)) << slot;
  }
}

TEST(CheckpointTest, NoStepIsCutInTwoByARestore) {
  const TempDir dir;
  Definitions definitions;
  Door door;
  const auto add = definitions.AddFunction("add", [&](WorkerContext& worker) {
    testing::AddTo(worker, "a");
    door.Wait(worker);
    testing::AddTo(worker, "b");
  });
  Job job(definitions, 3, 2);
  job.CreateCounter("a");
  job.CreateCounter("b");
  job.coordinator.Assign("a", Tensor::Scalar<std::int64_t>(100));
  job.coordinator.Assign("b", Tensor::Scalar<std::int64_t>(100));
  CheckpointManager manager(job.coordinator, dir.path());
  manager.Save();
  manager.Wait();
  for (int i = 0; i < 50; ++i) job.coordinator.Schedule(add);
  // Three are in the middle of their step.
  while (job.Count("a") < 103) std::this_thread::yield();
  std::thread opening([&] { door.Open(); });
  manager.Restore();
  opening.join();
  job.coordinator.Join();
  const std::int64_t a = job.Count("a");
  EXPECT_EQ(job.Count("b"), a);
  EXPECT_GE(a, 100);
  EXPECT_LE(a, 147);
}

TEST(CheckpointTest, WhatHasNoValuesIsLeftOut) {
  const TempDir dir;
  Job job(None(), 1, 2);
  job.coordinator.CreateVariables(
      {{.name = "set", .shape = {4}},
       {.name = "unset", .shape = {4}, .initializer = Unset{}}},
      FixedShards(2));
  EXPECT_EQ(SaveIn(job.coordinator, dir.path()).manifest().variables.size(),
            1u);
  CheckpointManager manager(job.coordinator, dir.path());
  const RestoreReport report = manager.Restore({.allow_missing = true});
  EXPECT_THAT(report.restored, ElementsAre("set"));
  EXPECT_THAT(report.missing, ElementsAre("unset"));
}

TEST(CheckpointTest, AnEmptyVariableAloneIsRestored) {
  const TempDir dir;
  Job job(None(), 1, 2);
  job.coordinator.CreateVariables({{.name = "empty", .shape = {0, 4}}});
  SaveIn(job.coordinator, dir.path());
  CheckpointManager manager(job.coordinator, dir.path());
  EXPECT_THAT(manager.Restore().restored, ElementsAre("empty"));
}

TEST(CheckpointTest, RecordsThatServersWouldNotKeepAreRefused) {
  LocalCluster local(1, 1);
  ClusterCoordinator coordinator(local.cluster());
  const std::string large(60'000, 'x');
  for (int i = 0; i < 8; ++i) {
    coordinator.SetRecord("part " + std::to_string(i), large);
  }
  EXPECT_THAT(ErrorOf([&] { coordinator.SetRecord("one more", large); }),
              IsError(ErrorCode::kResourceExhausted, HasSubstr("one more")));
  // In the place of another there is room.
  coordinator.SetRecord("part 0", large);
  EXPECT_THAT(ErrorOf([&] { coordinator.SetRecord("text", "\xff"); }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("UTF-8")));
  EXPECT_EQ(coordinator.Record("text"), std::nullopt);
}

TEST(CheckpointTest, RecordsGoWithIt) {
  const TempDir dir;
  Job job(None(), 1, 1);
  job.CreateCounter("a");
  EXPECT_EQ(job.coordinator.Record("mine"), std::nullopt);
  job.coordinator.SetRecord("mine", "1");
  EXPECT_EQ(job.coordinator.Record("mine"), "1");
  CheckpointManager manager(job.coordinator, dir.path());
  manager.Save();
  job.coordinator.SetRecord("mine", "2");
  manager.Save([] {
    return std::map<std::string, std::string>{{"place", "row \"7\"\n"}};
  });
  manager.Wait();
  EXPECT_EQ(manager.Records("ckpt-1"),
            (std::map<std::string, std::string>{{"mine", "1"}}));
  EXPECT_EQ(manager.Records(), (std::map<std::string, std::string>{
                                   {"mine", "2"}, {"place", "row \"7\"\n"}}));
  EXPECT_EQ(manager.Restore({.name = "ckpt-1"}).records.at("mine"), "1");
  // Restore reports them; what to do with them is the program's affair.
  EXPECT_EQ(job.coordinator.Record("mine"), "2");
}

TEST(CheckpointTest, TheNewestAndTheBestAreKept) {
  const TempDir dir;
  Job job(None(), 1, 2);
  job.CreateCounter("a");
  CheckpointManager manager(job.coordinator, dir.path(), {.max_to_keep = 2});
  for (int i = 0; i < 3; ++i) manager.Save();
  manager.Wait();
  EXPECT_THAT(manager.checkpoints(), ElementsAre("ckpt-2", "ckpt-3"));
  manager.Keep("ckpt-2");
  for (int i = 0; i < 3; ++i) manager.Save();
  manager.Wait();
  EXPECT_THAT(manager.checkpoints(), ElementsAre("ckpt-2", "ckpt-5", "ckpt-6"));
  manager.Keep("ckpt-6");
  manager.Save();
  manager.Save();
  manager.Wait();
  EXPECT_THAT(NamesIn(dir.path()), ElementsAre("ckpt-6", "ckpt-7", "ckpt-8"));
  // Numbers go on in a manager to come.
  manager.Save();
  manager.RemoveAll();
  EXPECT_THAT(NamesIn(dir.path()), IsEmpty());
  EXPECT_EQ(manager.latest(), std::nullopt);
}

TEST(CheckpointTest, WhatMakesNoSenseIsRefused) {
  const TempDir dir;
  Job job(None(), 1, 1);
  EXPECT_THAT(ErrorOf([&] {
                CheckpointManager(job.coordinator, dir.path(),
                                  {.max_to_keep = -1});
              }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("max_to_keep")));
  CheckpointManager manager(job.coordinator, dir.path());
  EXPECT_THAT(ErrorOf([&] { manager.Save(); }),
              IsError(ErrorCode::kFailedPrecondition,
                      HasSubstr("the job has no variables")));
  EXPECT_EQ(manager.latest(), std::nullopt);
  EXPECT_THAT(ErrorOf([&] { manager.Restore(); }),
              IsError(ErrorCode::kNotFound));
  EXPECT_THAT(ErrorOf([&] { manager.Restore({.name = "ckpt-9"}); }),
              IsError(ErrorCode::kNotFound, HasSubstr("ckpt-9")));
  EXPECT_THAT(ErrorOf([&] { manager.Restore({.name = "../x"}); }),
              IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(NamesIn(dir.path()), IsEmpty());
}

}  // namespace
}  // namespace capstan

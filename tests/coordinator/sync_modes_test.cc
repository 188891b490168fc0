// Synchronous and bounded training through the coordinator.
#include <bit>
#include <cmath>
#include <future>
#include <thread>

#include "coordinator/helpers.h"
#include "optimizer/updater.h"

namespace capstan {
namespace {

using testing::AddTo;
using testing::Door;
using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::IsError;
using testing::Job;

// Sgd with the rate 1, so that a gradient is subtracted as it is.
VariableSpec Subtracting(const std::string& name, UpdateMode update,
                         Aggregation aggregation = Aggregation::kSum) {
  return {.name = name,
          .shape = {},
          .optimizer = Sgd{.learning_rate = 1.0},
          .aggregation = aggregation,
          .update = update};
}

UpdateResult Subtract(WorkerContext& worker, const std::string& name,
                      float amount) {
  return worker.ApplyGradients({{name, Tensor::Scalar(amount)}});
}

// --- The same bits as in one process.

constexpr std::int64_t kFeatures = 13;

// Of the squared error of a linear model on the examples of `range`.
std::vector<float> Gradient(std::span<const float> weights, DataRange range) {
  std::vector<float> gradient(weights.size());
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    float error = -1.0f;
    for (std::size_t f = 0; f < weights.size(); ++f) {
      error += weights[f] * std::sin(static_cast<float>(i * (f + 1)));
    }
    for (std::size_t f = 0; f < weights.size(); ++f) {
      gradient[f] += error * std::sin(static_cast<float>(i * (f + 1)));
    }
  }
  return gradient;
}

// The reference: gradients summed in the order of the replicas, and one step of
// the optimizer with their mean.
class Reference {
 public:
  explicit Reference(const Optimizer& optimizer)
      : updater_(*Updater::Make(optimizer)), weights_(kFeatures) {
    for (const SlotInfo& slot : updater_->slots()) {
      slots_.emplace_back(kFeatures, slot.initial);
    }
  }

  void Round(std::span<const DataRange> ranges) {
    std::vector<float> sum(kFeatures);
    for (const DataRange& range : ranges) {
      const std::vector<float> gradient = Gradient(weights_, range);
      for (std::size_t f = 0; f < sum.size(); ++f) sum[f] += gradient[f];
    }
    DenseUpdate update;
    update.gradient = std::as_bytes(std::span(sum)).data();
    update.size = sum.size();
    update.value_in = update.value_out = weights_.data();
    for (std::size_t s = 0; s < slots_.size(); ++s) {
      update.slots_in[s] = update.slots_out[s] = slots_[s].data();
    }
    const double scale = 1.0 / static_cast<double>(ranges.size());
    updater_->Dense(updater_->Begin(state_, scale, 0), update);
    updater_->Advance(state_);
  }

  const std::vector<float>& weights() const { return weights_; }

 private:
  std::unique_ptr<const Updater> updater_;
  OptimizerState state_;
  std::vector<float> weights_;
  std::vector<std::vector<float>> slots_;
};

class SyncBitsTest : public ::testing::TestWithParam<std::size_t> {};

INSTANTIATE_TEST_SUITE_P(, SyncBitsTest,
                         ::testing::Values(testing::kWide, testing::kNarrow),
                         testing::CapacityName);

TEST_P(SyncBitsTest, ThreeWorkersComputeWhatOneProcessDoes) {
  Definitions definitions;
  const auto step = definitions.AddFunction("step", [](WorkerContext& worker,
                                                       DataRange range) {
    const Tensor weights = worker.Read("w");
    worker.ApplyGradients(
        {{"w", Tensor::FromValues({kFeatures},
                                  Gradient(weights.Values<float>(), range))}});
    AddTo(worker, "steps");
  });
  Job job(definitions, 3, 2, testing::WithCapacity(GetParam()));
  const Adam adam{.learning_rate = 0.05};
  job.coordinator.CreateVariables({{.name = "w",
                                    .shape = {kFeatures},
                                    .optimizer = adam,
                                    .update = Sync{.replicas = 2}}},
                                  FixedShards(2));
  job.CreateCounter("steps");
  Reference reference(adam);
  // The last round of each epoch has one replica only: Join applies it.
  DataRanges ranges({.examples = 205, .batch = 10, .shuffle = true});
  while (ranges.epoch() < 3) {
    std::vector<DataRange> round;
    while (std::optional<DataTicket> ticket = ranges.Next()) {
      round.push_back(ticket->range());
      if (round.size() == 2) {
        reference.Round(round);
        round.clear();
      }
      job.coordinator.Schedule(step, *std::move(ticket));
    }
    if (!round.empty()) reference.Round(round);
    job.coordinator.Join();
    const std::vector<float> weights = job.Floats("w");
    for (std::size_t f = 0; f < weights.size(); ++f) {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(weights[f]),
                std::bit_cast<std::uint32_t>(reference.weights()[f]))
          << f << " after epoch " << ranges.epoch();
    }
  }
  EXPECT_EQ(job.Count("steps"), 63);
}

// --- Rounds.

class SyncTest : public ::testing::Test {
 protected:
  SyncTest()
      : subtract_(definitions_.AddFunction(
            "subtract", [](WorkerContext& worker,
                           float amount) { Subtract(worker, "w", amount); })),
        fail_(definitions_.AddFunction("fail", [](WorkerContext& worker) {
          Subtract(worker, "w", 1000);
          throw Error(ErrorCode::kDataLoss, "after its update");
        })) {}

  Definitions definitions_;
  const Function<void, float> subtract_;
  const Function<void> fail_;
};

TEST_F(SyncTest, ARoundThatIsNotFullIsAppliedByJoin) {
  Job job(definitions_, 3, 2);
  job.coordinator.CreateVariables(
      {Subtracting("sum", Sync{.replicas = 4}),
       Subtracting("w", Sync{.replicas = 4}, Aggregation::kMean)});
  job.coordinator.Schedule(subtract_, 3.0f);
  job.coordinator.Join();
  EXPECT_THAT(job.Floats("w"), ElementsAre(-3)) << "the mean of one";
  job.coordinator.Schedule(subtract_, 1.0f);
  job.coordinator.Schedule(subtract_, 2.0f);
  job.coordinator.Join();
  EXPECT_THAT(job.Floats("w"), ElementsAre(-4.5)) << "the mean of two";
  job.coordinator.Join();
  EXPECT_THAT(job.Floats("w"), ElementsAre(-4.5));
}

TEST_F(SyncTest, AnUpdateShowsWithItsRoundOnly) {
  Job job(definitions_, 2, 1);
  job.coordinator.CreateVariables({Subtracting("w", Sync{.replicas = 2})});
  job.coordinator.Schedule(subtract_, 1.0f).Fetch();
  EXPECT_THAT(job.Floats("w"), ElementsAre(0));
  job.coordinator.Schedule(subtract_, 2.0f).Fetch();
  job.coordinator.Join();
  EXPECT_THAT(job.Floats("w"), ElementsAre(-3));
}

TEST_F(SyncTest, AnErrorInTheMiddleOfARoundGivesItUp) {
  Job job(definitions_, 3, 2);
  job.coordinator.CreateVariables({Subtracting("w", Sync{.replicas = 3})});
  for (int i = 0; i < 3; ++i) job.coordinator.Schedule(subtract_, 1.0f);
  job.coordinator.Join();
  EXPECT_THAT(job.Floats("w"), ElementsAre(-3));
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(ErrorOf([&] {
                  job.coordinator.Schedule(subtract_, 10.0f).Fetch();
                  job.coordinator.Schedule(fail_);
                  job.coordinator.Join();
                }),
                IsError(ErrorCode::kDataLoss));
    EXPECT_THAT(job.Floats("w"), ElementsAre(-3)) << "nothing of it";
  }
  for (int i = 0; i < 6; ++i) job.coordinator.Schedule(subtract_, 1.0f);
  job.coordinator.Join();
  EXPECT_THAT(job.Floats("w"), ElementsAre(-9));
}

// Also while something that is in no round is still running.
TEST_F(SyncTest, AnErrorGivesUpItsRoundWhateverElseRuns) {
  Door begun;
  Door end;
  const auto evaluate = definitions_.AddFunction("evaluate",
                                                 [&](WorkerContext&) {
                                                   begun.Open();
                                                   end.Wait();
                                                 },
                                                 {.reads_only = true});
  Job job(definitions_, 3, 2);
  job.coordinator.CreateVariables({Subtracting("w", Sync{.replicas = 2})});
  const RemoteValue<void> running = job.coordinator.Schedule(evaluate);
  begun.Wait();
  job.coordinator.Schedule(subtract_, 10.0f).Fetch();
  const RemoteValue<void> failing = job.coordinator.Schedule(fail_);
  EXPECT_THROW(failing.Fetch(), Error);
  // Time for a round to be settled that must not be.
  for (int i = 0; i < 200; ++i) job.coordinator.Status();
  EXPECT_THAT(job.Floats("w"), ElementsAre(0));
  end.Open();
  EXPECT_THAT(ErrorOf([&] { job.coordinator.Join(); }),
              IsError(ErrorCode::kDataLoss));
  EXPECT_THAT(job.Floats("w"), ElementsAre(0));
  running.Fetch();
  for (int i = 0; i < 4; ++i) job.coordinator.Schedule(subtract_, 1.0f);
  job.coordinator.Join();
  EXPECT_THAT(job.Floats("w"), ElementsAre(-4));
}

TEST_F(SyncTest, ACancelledFunctionIsMissingInItsRound) {
  Door begun;
  const auto run = definitions_.AddFunction("run", [&](WorkerContext& worker) {
    Subtract(worker, "w", 1000);
    begun.Open();
    testing::RunForEver(worker);
  });
  Job job(definitions_, 3, 1);
  job.coordinator.CreateVariables({Subtracting("w", Sync{.replicas = 2})});
  const RemoteValue<void> value = job.coordinator.Schedule(run);
  begun.Wait();
  job.coordinator.Schedule(subtract_, 1.0f);
  value.Cancel();
  job.coordinator.Join();
  EXPECT_THAT(job.Floats("w"), ElementsAre(-1));
  for (int i = 0; i < 2; ++i) job.coordinator.Schedule(subtract_, 1.0f);
  job.coordinator.Join();
  EXPECT_THAT(job.Floats("w"), ElementsAre(-3));
}

TEST_F(SyncTest, WithABackupTheLastOfARoundIsDropped) {
  Door begun;
  Door end;
  const auto slow = definitions_.AddFunction("slow", [&](WorkerContext& w) {
    begun.Open();
    end.Wait(w);
    const UpdateResult result = Subtract(w, "w", 1000);
    return std::make_pair(result.dropped, result.staged);
  });
  Door all;
  const auto gated = definitions_.AddFunction("gated", [&](WorkerContext& w) {
    all.Wait(w);
    Subtract(w, "w", 1);
  });
  Job job(definitions_, 3, 1);
  job.coordinator.CreateVariables(
      {Subtracting("w", Sync{.replicas = 2, .backup = 1})});
  const auto late = job.coordinator.Schedule(slow);
  begun.Wait();
  job.coordinator.Schedule(subtract_, 1.0f);
  job.coordinator.Schedule(subtract_, 2.0f);
  // The round goes on without the slow one.
  while (job.Floats("w")[0] == 0) std::this_thread::yield();
  EXPECT_THAT(job.Floats("w"), ElementsAre(-3));
  end.Open();
  EXPECT_EQ(late.Fetch(), std::make_pair(std::uint64_t{1}, std::uint64_t{0}));
  job.coordinator.Join();
  EXPECT_THAT(job.Floats("w"), ElementsAre(-3));
  // Of three that are scheduled before any has finished, two count.
  for (int i = 0; i < 9; ++i) job.coordinator.Schedule(gated);
  all.Open();
  job.coordinator.Join();
  EXPECT_THAT(job.Floats("w"), ElementsAre(-9));
}

TEST_F(SyncTest, FunctionsThatOnlyReadAreInNoRound) {
  const auto read = definitions_.AddFunction(
      "read",
      [](WorkerContext& worker) { return worker.Read("w").Values<float>()[0]; },
      {.reads_only = true});
  Job job(definitions_, 2, 1);
  job.coordinator.CreateVariables({Subtracting("w", Sync{.replicas = 2})});
  job.coordinator.Schedule(subtract_, 1.0f).Fetch();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(job.coordinator.Schedule(read).Fetch(), 0.0f);
  }
  job.coordinator.Schedule(subtract_, 1.0f);
  job.coordinator.Join();
  EXPECT_EQ(job.coordinator.Schedule(read).Fetch(), -2.0f);
}

// In synchronous training each round sees the one before it, and its own not.
TEST_F(SyncTest, EveryFunctionReadsTheValuesOfTheRoundBefore) {
  const auto both = definitions_.AddFunction("both", [](WorkerContext& worker) {
    const float before = worker.Read("w").Values<float>()[0];
    Subtract(worker, "w", 1);
    return before;
  });
  Job job(definitions_, 3, 2);
  job.coordinator.CreateVariables({Subtracting("w", Sync{.replicas = 3})});
  std::vector<RemoteValue<float>> values;
  for (int i = 0; i < 30; ++i) values.push_back(job.coordinator.Schedule(both));
  job.coordinator.Join();
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(values[i].Fetch(), -3.0f * static_cast<float>(i / 3)) << i;
  }
}

TEST_F(SyncTest, AssignmentsTakeEffectAtOnce) {
  Job job(definitions_, 2, 2);
  job.coordinator.CreateVariables({Subtracting("w", Sync{.replicas = 2})});
  job.coordinator.Schedule(subtract_, 1.0f).Fetch();
  job.coordinator.Assign("w", Tensor::Scalar(100.0f));
  EXPECT_THAT(job.Floats("w"), ElementsAre(100));
  job.coordinator.Schedule(subtract_, 1.0f);
  job.coordinator.Join();
  EXPECT_THAT(job.Floats("w"), ElementsAre(98));
}

TEST_F(SyncTest, AsyncVariablesBesideItAreUpdatedAtOnce) {
  const auto both = definitions_.AddFunction("both", [](WorkerContext& worker) {
    worker.ApplyGradients(
        {{"w", Tensor::Scalar(1.0f)}, {"a", Tensor::Scalar(1.0f)}});
  });
  Job job(definitions_, 2, 2);
  job.coordinator.CreateVariables(
      {Subtracting("w", Sync{.replicas = 2}), Subtracting("a", Async{})});
  job.coordinator.Schedule(both).Fetch();
  EXPECT_THAT(job.Floats("w"), ElementsAre(0));
  EXPECT_THAT(job.Floats("a"), ElementsAre(-1));
  job.coordinator.Join();
  EXPECT_THAT(job.Floats("w"), ElementsAre(-1));
}

// --- What does not go together.

TEST_F(SyncTest, OtherReplicasBesideItAreRefused) {
  Job job(definitions_, 2, 1);
  const auto refused = [&](const std::vector<VariableSpec>& specs) {
    return ErrorOf([&] { job.coordinator.CreateVariables(specs); });
  };
  const auto contradiction =
      IsError(ErrorCode::kInvalidArgument,
              ::testing::AllOf(HasSubstr("'a'"), HasSubstr("'b'"),
                               HasSubstr("replicas")));
  EXPECT_THAT(refused({Subtracting("a", Sync{.replicas = 2}),
                       Subtracting("b", Sync{.replicas = 3})}),
              contradiction);
  EXPECT_THAT(refused({Subtracting("a", Sync{.replicas = 2}),
                       Subtracting("b", Sync{.replicas = 2, .backup = 1})}),
              contradiction);
  EXPECT_THAT(refused({Subtracting("a", Sync{.replicas = 2}),
                       Subtracting("b", BoundedStaleness{.replicas = 3})}),
              contradiction);
  // None of them is there.
  EXPECT_THROW(job.coordinator.Read("a"), Error);
  job.coordinator.CreateVariables({Subtracting("a", Sync{.replicas = 2})});
  EXPECT_THAT(refused({Subtracting("b", Sync{.replicas = 3})}), contradiction);
  job.coordinator.CreateVariables({Subtracting("w", Sync{.replicas = 2})});
  for (int i = 0; i < 2; ++i) job.coordinator.Schedule(subtract_, 1.0f);
  job.coordinator.Join();
  EXPECT_THAT(job.Floats("w"), ElementsAre(-2));
}

TEST_F(SyncTest, TheModeCannotChangeOnceRoundsHaveBegun) {
  Job job(definitions_, 2, 1);
  job.coordinator.CreateVariables(
      {Subtracting("w", BoundedStaleness{.replicas = 2, .bound = 1})});
  for (int i = 0; i < 2; ++i) job.coordinator.Schedule(subtract_, 1.0f);
  job.coordinator.Join();
  EXPECT_THAT(ErrorOf([&] {
                job.coordinator.CreateVariables(
                    {Subtracting("late", Sync{.replicas = 2})});
              }),
              IsError(ErrorCode::kFailedPrecondition,
                      HasSubstr("before the first step")));
  EXPECT_THROW(job.coordinator.Read("late"), Error);
  // More of the same, and asynchronous ones, are welcome.
  job.coordinator.CreateVariables(
      {Subtracting("more", BoundedStaleness{.replicas = 2, .bound = 1}),
       Subtracting("async", Async{})});
  for (int i = 0; i < 2; ++i) job.coordinator.Schedule(subtract_, 1.0f);
  job.coordinator.Join();
  EXPECT_THAT(job.Floats("w"), ElementsAre(-4));
}

TEST_F(SyncTest, ALateSyncVariableJoinsTheRounds) {
  const auto late = definitions_.AddFunction(
      "late", [](WorkerContext& worker) { Subtract(worker, "late", 1); });
  Job job(definitions_, 2, 2);
  job.coordinator.CreateVariables({Subtracting("w", Sync{.replicas = 2})});
  for (int i = 0; i < 6; ++i) job.coordinator.Schedule(subtract_, 1.0f);
  job.coordinator.Join();
  job.coordinator.CreateVariables({Subtracting("late", Sync{.replicas = 2})});
  for (int i = 0; i < 4; ++i) job.coordinator.Schedule(late);
  job.coordinator.Join();
  EXPECT_THAT(job.Floats("late"), ElementsAre(-4));
  EXPECT_THAT(job.Floats("w"), ElementsAre(-6));
}

TEST_F(SyncTest, AJobMayTurnSynchronousWhenNoRoundHasBegun) {
  Job job(definitions_, 2, 1);
  job.coordinator.CreateVariables({Subtracting("w", Async{})});
  for (int i = 0; i < 5; ++i) job.coordinator.Schedule(subtract_, 1.0f);
  job.coordinator.Join();
  job.coordinator.DropVariables({"w"});
  job.coordinator.CreateVariables({Subtracting("w", Sync{.replicas = 2})});
  for (int i = 0; i < 3; ++i) job.coordinator.Schedule(subtract_, 1.0f);
  job.coordinator.Join();
  EXPECT_THAT(job.Floats("w"), ElementsAre(-3));
}

// --- Bounded staleness.

class BoundedTest : public ::testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(, BoundedTest, ::testing::Values(0, 1, 3));

TEST_P(BoundedTest, EveryFunctionSeesAllButTheLastClocks) {
  const int bound = GetParam();
  constexpr int kReplicas = 2;
  constexpr int kSteps = 60;
  Definitions definitions;
  const auto both = definitions.AddFunction("both", [](WorkerContext& worker) {
    const float before = worker.Read("w").Values<float>()[0];
    Subtract(worker, "w", 1);
    return before;
  });
  Job job(definitions, 3, 2);
  job.coordinator.CreateVariables({Subtracting(
      "w", BoundedStaleness{.replicas = kReplicas, .bound = bound})});
  std::vector<RemoteValue<float>> values;
  for (int i = 0; i < kSteps; ++i) {
    values.push_back(job.coordinator.Schedule(both));
    // A Join in the middle of a clock changes nothing.
    if (i == kSteps / 2) job.coordinator.Join();
  }
  job.coordinator.Join();
  EXPECT_THAT(job.Floats("w"), ElementsAre(-kSteps));
  for (int i = 0; i < kSteps; ++i) {
    const int clock = i / kReplicas;
    EXPECT_LE(values[static_cast<std::size_t>(i)].Fetch(),
              static_cast<float>(-kReplicas * (clock - bound)))
        << "step " << i;
  }
}

TEST_P(BoundedTest, AFailureDoesNotStopTheClocks) {
  Definitions definitions;
  const auto subtract = definitions.AddFunction(
      "subtract", [](WorkerContext& worker) { Subtract(worker, "w", 1); });
  const auto fail = definitions.AddFunction(
      "fail", [] { throw Error(ErrorCode::kDataLoss, "no"); });
  Job job(definitions, 3, 2);
  job.coordinator.CreateVariables(
      {Subtracting("w", BoundedStaleness{.replicas = 2, .bound = GetParam()})});
  float done = 0;
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 5; ++k) job.coordinator.Schedule(subtract);
    job.coordinator.Join();
    done += 5;
    EXPECT_THAT(job.Floats("w"), ElementsAre(-done));
    job.coordinator.Schedule(fail);
    EXPECT_THROW(job.coordinator.Join(), Error);
  }
}

}  // namespace
}  // namespace capstan

// Synchronous rounds: the contributions of all replicas become one update.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <thread>
#include <vector>

#include "optimizer/updater.h"
#include "parameters/helpers.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using testing::BytesOf;
using testing::GatherRows;
using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::ParameterJob;
using testing::Push;
using testing::ReadAs;
using testing::Scatter;
using testing::Spec;
using testing::StatusIs;

class SyncTest : public ::testing::Test {
 protected:
  void Create(Aggregation aggregation, Sync mode = {.replicas = 2},
              Shape shape = {4}) {
    VariableSpec spec = Spec("w", shape);
    spec.aggregation = aggregation;
    spec.update = mode;
    ASSERT_OK(job_.Create({spec}, FixedShards(2)));
  }

  UpdateId Id(uint64_t round, uint32_t replica) {
    UpdateId id = job_.NextStep();
    id.round = round;
    id.replica = replica;
    return id;
  }
  absl::StatusOr<UpdateResult> PushAll(const UpdateId& id, float value) {
    return Push(job_, job_.chief(), id, "w", std::vector<float>(4, value));
  }
  absl::Status Commit(uint64_t round, std::vector<uint32_t> replicas) {
    RoundRequest request;
    request.fence = job_.fence();
    request.round = round;
    request.replicas = std::move(replicas);
    return job_.Run(job_.chief(), job_.chief().Commit(request));
  }
  void ExpectAll(float value) {
    EXPECT_THAT(job_.Read("w"), IsOkAndHolds(std::vector<float>(4, value)));
  }

  ParameterJob job_{{.servers = 2}};
};

TEST_F(SyncTest, TheMeanOfTheReplicas) {
  Create(Aggregation::kMean);
  const absl::StatusOr<UpdateResult> summary = PushAll(Id(1, 0), 1);
  ASSERT_OK(summary);
  EXPECT_EQ(summary->staged, 2u);
  ASSERT_OK(PushAll(Id(1, 1), 4));
  // Nothing has happened yet.
  ExpectAll(0);
  EXPECT_EQ(job_.Report("w").version, 1u);
  ASSERT_OK(Commit(1, {0, 1}));
  ExpectAll(-2.5);
  EXPECT_EQ(job_.Report("w").version, 2u);
  EXPECT_EQ(job_.Report("w").applied, 2u);
  EXPECT_EQ(job_.Status(0).committed_round, 1u);
}

TEST_F(SyncTest, TheSumOfTheReplicas) {
  Create(Aggregation::kSum);
  ASSERT_OK(PushAll(Id(1, 1), 4));
  ASSERT_OK(PushAll(Id(1, 0), 1));
  ASSERT_OK(Commit(1, {0, 1}));
  ExpectAll(-5);
}

TEST_F(SyncTest, TheFirstReplicaOnly) {
  Create(Aggregation::kOnlyFirstReplica);
  ASSERT_OK(PushAll(Id(1, 1), 4));
  ASSERT_OK(PushAll(Id(1, 0), 1));
  ASSERT_OK(Commit(1, {0, 1}));
  ExpectAll(-1);
  // The first of those that count.
  ASSERT_OK(PushAll(Id(2, 0), 10));
  ASSERT_OK(PushAll(Id(2, 1), 2));
  ASSERT_OK(Commit(2, {1}));
  ExpectAll(-3);
}

// On the shards, too, to which the first has contributed nothing.
TEST_F(SyncTest, TheFirstReplicaOnlyOfRows) {
  Create(Aggregation::kOnlyFirstReplica);
  ASSERT_OK(
      Scatter(job_, job_.chief(), Id(1, 0), "w", {0}, std::vector<float>{1}));
  ASSERT_OK(Scatter(job_, job_.chief(), Id(1, 1), "w", {0, 3},
                    std::vector<float>{5, 5}));
  ASSERT_OK(Commit(1, {0, 1}));
  EXPECT_THAT(job_.Read("w"), IsOkAndHolds(std::vector<float>{-1, 0, 0, 0}));
}

TEST_F(SyncTest, SeveralPushesOfAReplica) {
  Create(Aggregation::kSum);
  UpdateId id = Id(1, 0);
  ASSERT_OK(PushAll(id, 1));
  id.push = 1;
  ASSERT_OK(PushAll(id, 2));
  ASSERT_OK(PushAll(Id(1, 1), 4));
  ASSERT_OK(Commit(1, {0, 1}));
  ExpectAll(-7);
}

TEST_F(SyncTest, DuplicatesCountOnce) {
  Create(Aggregation::kSum);
  const UpdateId id = Id(1, 0);
  for (int i = 0; i < 3; ++i) {
    const absl::StatusOr<UpdateResult> summary = PushAll(id, 1);
    ASSERT_OK(summary);
    EXPECT_EQ(summary->staged, 2u);
  }
  EXPECT_EQ(job_.Report("w").duplicates, 2u);
  // Another run of the same replica's part, too.
  ASSERT_OK(PushAll(Id(1, 0), 1));
  ASSERT_OK(Commit(1, {0}));
  ExpectAll(-1);
  // After the commit the sender learns that it has been applied.
  const absl::StatusOr<UpdateResult> summary = PushAll(id, 1);
  ASSERT_OK(summary);
  EXPECT_EQ(summary->already_applied, 2u);
  ExpectAll(-1);
}

TEST_F(SyncTest, LateOnesAreDroppedAndCounted) {
  Create(Aggregation::kMean, {.replicas = 2, .backup = 1});
  ASSERT_OK(PushAll(Id(1, 0), 1));
  ASSERT_OK(PushAll(Id(1, 2), 3));
  // One that has come, but does not count.
  ASSERT_OK(PushAll(Id(1, 1), 100));
  ASSERT_OK(Commit(1, {0, 2}));
  ExpectAll(-2);
  EXPECT_EQ(job_.Report("w").dropped, 1u);
  ASSERT_OK(PushAll(Id(2, 1), 1));
  ASSERT_OK(PushAll(Id(2, 2), 1));
  ASSERT_OK(Commit(2, {1, 2}));
  ExpectAll(-3);
  // One that comes after the commit.
  const absl::StatusOr<UpdateResult> summary = PushAll(Id(2, 0), 100);
  ASSERT_OK(summary);
  EXPECT_EQ(summary->dropped, 2u);
  ExpectAll(-3);
  EXPECT_EQ(job_.Report("w").dropped, 2u);
}

TEST_F(SyncTest, CommittingTwiceChangesNothing) {
  Create(Aggregation::kSum);
  ASSERT_OK(PushAll(Id(1, 0), 1));
  ASSERT_OK(PushAll(Id(1, 1), 1));
  for (int i = 0; i < 3; ++i) ASSERT_OK(Commit(1, {0, 1}));
  ExpectAll(-2);
  EXPECT_EQ(job_.Report("w").version, 2u);
}

TEST_F(SyncTest, RoundsAreCommittedInOrder) {
  Create(Aggregation::kSum);
  ASSERT_OK(PushAll(Id(2, 0), 10));
  EXPECT_THAT(Commit(2, {0}), StatusIs(absl::StatusCode::kFailedPrecondition,
                                       HasSubstr("round 2 cannot be committed: "
                                                 "the last one was 0")));
  ExpectAll(0);
  ASSERT_OK(Commit(1, {0}));  // to which nobody has contributed
  ExpectAll(0);
  ASSERT_OK(Commit(2, {0}));
  ExpectAll(-10);
}

TEST_F(SyncTest, AReplicaNamedTwiceIsRefused) {
  Create(Aggregation::kMean);
  ASSERT_OK(PushAll(Id(1, 0), 1));
  EXPECT_THAT(Commit(1, {0, 0}), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("replica 0 twice")));
  ASSERT_OK(Commit(1, {0}));
  ExpectAll(-1);
}

TEST_F(SyncTest, ARoundWithoutReplicasIsGivenUp) {
  for (const Aggregation aggregation :
       {Aggregation::kMean, Aggregation::kOnlyFirstReplica}) {
    Create(aggregation);
    ASSERT_OK(PushAll(Id(1, 0), 1));
    ASSERT_OK(Commit(1, {}));
    ExpectAll(0);
    ASSERT_OK(PushAll(Id(2, 0), 1));
    ASSERT_OK(Commit(2, {0}));
    ExpectAll(-1);
    ASSERT_OK(job_.Drop({"w"}));
    ASSERT_OK(job_.NextGeneration());
  }
}

TEST_F(SyncTest, WhatBelongsToNoRoundIsRefusedWhole) {
  // Before "w" in the order of the ids, and applied at once.
  ASSERT_OK(job_.Create({Spec("async", {4})}, FixedShards(2)));
  Create(Aggregation::kSum);
  const std::vector<float> values(4, 1);
  const std::vector<DenseItem> items = {
      testing::Dense(job_.Id("w"), values),
      testing::Dense(job_.Id("async"), values)};
  const auto push = [&](const UpdateId& id) {
    return job_.Run(job_.chief(),
                    job_.chief().Update(id, Operation::kGradient, items, {}));
  };
  EXPECT_THAT(push(Id(0, 0)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("'w'"), HasSubstr("synchronous"))));
  EXPECT_THAT(push(Id(1, 2)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("'w'"), HasSubstr("replica 2"))));
  EXPECT_THAT(job_.Read("async"), IsOkAndHolds(std::vector<float>(4, 0)));
  ASSERT_OK(push(Id(1, 1)));
  EXPECT_THAT(job_.Read("async"), IsOkAndHolds(std::vector<float>(4, -1)));
}

TEST_F(SyncTest, AVariableThatComesLateJoinsTheRounds) {
  Create(Aggregation::kSum);
  for (uint64_t round = 1; round <= 100; ++round) {
    ASSERT_OK(PushAll(Id(round, 0), 1));
    ASSERT_OK(Commit(round, {0}));
  }
  VariableSpec spec = Spec("late", {4});
  spec.update = Sync{.replicas = 2};
  spec.aggregation = Aggregation::kSum;
  ASSERT_OK(job_.Create({spec}, FixedShards(2)));
  const std::vector<float> ones(4, 1);
  // A straggler of an old round is dropped, and is in nobody's way.
  const absl::StatusOr<UpdateResult> old =
      Push(job_, job_.chief(), Id(50, 1), "late", ones);
  ASSERT_OK(old);
  EXPECT_EQ(old->dropped, 2u);
  ASSERT_OK(Push(job_, job_.chief(), Id(101, 0), "late", ones));
  ASSERT_OK(Commit(101, {0}));
  EXPECT_THAT(job_.Read("late"), IsOkAndHolds(std::vector<float>(4, -1)));
}

TEST_F(SyncTest, TooFarAheadIsRefused) {
  Create(Aggregation::kSum);
  ASSERT_OK(PushAll(Id(64, 0), 1));
  EXPECT_THAT(
      PushAll(Id(65, 0), 1),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("round 65")));
}

TEST_F(SyncTest, StagedMemoryIsGivenBack) {
  Create(Aggregation::kSum);
  const uint64_t before = job_.Status(0).bytes_used;
  ASSERT_OK(PushAll(Id(1, 0), 1));
  ASSERT_OK(PushAll(Id(1, 1), 1));
  EXPECT_GT(job_.Status(0).bytes_used, before);
  ASSERT_OK(Commit(1, {0}));
  // The record of the updates goes.
  ASSERT_OK(job_.Run(
      job_.chief(),
      job_.chief().SetWatermark({.fence = job_.fence(), .watermark = 100})));
  EXPECT_EQ(job_.Status(0).bytes_used, before);
}

TEST_F(SyncTest, APullWaitsForTheRoundBefore) {
  Create(Aggregation::kSum);
  ParameterClient& worker = job_.NewClient();
  ASSERT_OK(job_.Run(worker, worker.Refresh()));
  std::vector<float> values(4);
  PullItem item;
  item.variable = job_.Id("w");
  item.into = BytesOf(values);
  ReadOptions options;
  options.round = 1;
  // The first round waits for nothing.
  ASSERT_OK(job_.Run(worker, worker.Pull(std::span(&item, 1), options)));
  options.round = 2;
  const uint64_t before = job_.Requests(0) + job_.Requests(1);
  std::future<absl::Status> pull =
      job_.Start(worker, worker.Pull(std::span(&item, 1), options));
  while (job_.Requests(0) + job_.Requests(1) < before + 2) {
    std::this_thread::yield();
  }
  ASSERT_OK(PushAll(Id(1, 0), 3));
  ASSERT_OK(PushAll(Id(1, 1), 4));
  EXPECT_EQ(pull.wait_for(std::chrono::seconds(0)),
            std::future_status::timeout);
  ASSERT_OK(Commit(1, {0, 1}));
  ASSERT_OK(pull.get());
  EXPECT_EQ(values, std::vector<float>(4, -7));
  // So does a gather; and one without a round does not.
  EXPECT_THAT(GatherRows(job_, worker, "w", {3}, options),
              IsOkAndHolds(std::vector<float>{-7}));
  ASSERT_OK(GatherRows(job_, worker, "w", {3}));
}

TEST(SyncEndTest, TheJobEndsWhileAPullWaits) {
  std::vector<float> values(4, 7);
  PullItem item;
  item.into = BytesOf(values);
  std::future<absl::Status> pull;
  {
    ParameterJob job;
    VariableSpec spec = Spec("w", {4});
    spec.update = Sync{.replicas = 1};
    ASSERT_OK(job.Create({spec}));
    item.variable = job.Id("w");
    ReadOptions options;
    options.round = 2;
    const uint64_t before = job.Requests(0);
    pull =
        job.Start(job.chief(), job.chief().Pull(std::span(&item, 1), options));
    while (job.Requests(0) == before) std::this_thread::yield();
  }
  EXPECT_THROW(pull.get(), std::future_error);
  EXPECT_EQ(values, std::vector<float>(4, 7));
}

TEST_F(SyncTest, WhatIsKnownIsForgottenWhenAPullFails) {
  Create(Aggregation::kSum);
  std::vector<float> values(4);
  ShardVersions have;
  PullItem item;
  item.variable = job_.Id("w");
  item.into = BytesOf(values);
  item.have = &have;
  ASSERT_OK(job_.Run(job_.chief(), job_.chief().Pull(std::span(&item, 1))));
  EXPECT_EQ(have.versions.size(), 2u);
  ReadOptions options;
  options.round = 2;
  options.timeout = std::chrono::milliseconds(100);
  EXPECT_THAT(
      job_.Run(job_.chief(), job_.chief().Pull(std::span(&item, 1), options)),
      StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_TRUE(have.versions.empty());
}

TEST_F(SyncTest, APullThatWaitsTooLongSaysForWhat) {
  Create(Aggregation::kSum);
  ASSERT_OK(Commit(1, {0}));
  ReadOptions options;
  options.round = 5;
  options.timeout = std::chrono::milliseconds(200);
  const auto is_late =
      StatusIs(absl::StatusCode::kDeadlineExceeded,
               HasSubstr("waited for the coordinator to commit round 4; the "
                         "last one committed is 1"));
  EXPECT_THAT(ReadAs<float>(job_, job_.chief(), "w", options), is_late);
  EXPECT_THAT(GatherRows(job_, job_.chief(), "w", {0}, options), is_late);
}

// The reference: gradients summed in the order of the replicas, in float, and
// one step of the optimizer.
class Reference {
 public:
  Reference(const Optimizer& optimizer, size_t size)
      : updater_(*Updater::Make(optimizer)), values_(size) {
    for (const SlotInfo& slot : updater_->slots()) {
      slots_.emplace_back(size, slot.initial);
    }
  }

  void Round(const std::vector<std::vector<float>>& gradients, double scale) {
    std::vector<float> sum(values_.size());
    for (const std::vector<float>& gradient : gradients) {
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += gradient[i];
    }
    DenseUpdate update;
    update.gradient = BytesOf(std::as_const(sum)).data();
    update.size = sum.size();
    update.value_in = update.value_out = values_.data();
    for (size_t s = 0; s < slots_.size(); ++s) {
      update.slots_in[s] = update.slots_out[s] = slots_[s].data();
    }
    updater_->Dense(updater_->Begin(state_, scale, 0), update);
    updater_->Advance(state_);
  }

  const std::vector<float>& values() const { return values_; }

 private:
  std::unique_ptr<const Updater> updater_;
  OptimizerState state_;
  std::vector<float> values_;
  std::vector<std::vector<float>> slots_;
};

std::vector<float> SomeGradient(uint64_t round, uint32_t replica, size_t size) {
  Random random(round, replica);
  std::vector<float> gradient(size);
  for (float& g : gradient) {
    // Of very different sizes, so that the order of a sum shows.
    g = static_cast<float>(
        static_cast<double>(random.Between(-1000, 1000)) *
        std::ldexp(1.0, static_cast<int>(random.Between(-20, 3))));
  }
  return gradient;
}

TEST(SyncOrderTest, AnyArrivalGivesTheSameBits) {
  constexpr size_t kSize = 37;
  constexpr uint32_t kReplicas = 4;
  const Adam adam{.learning_rate = 0.1};
  for (const uint32_t workers : {1u, 2u, 4u}) {
    for (const bool reverse : {false, true}) {
      ParameterJob job({.servers = 3});
      VariableSpec spec = Spec("w", {kSize});
      spec.optimizer = adam;
      spec.update = Sync{.replicas = kReplicas};
      ASSERT_OK(job.Create({spec}, FixedShards(3)));
      Reference reference(adam, kSize);
      for (uint64_t round = 1; round <= 3; ++round) {
        std::vector<std::vector<float>> gradients;
        for (uint32_t r = 0; r < kReplicas; ++r) {
          gradients.push_back(SomeGradient(round, r, kSize));
        }
        // Worker i has the replicas i, i + workers, ...
        std::vector<uint32_t> order;
        for (uint32_t w = 0; w < workers; ++w) {
          for (uint32_t r = w; r < kReplicas; r += workers) order.push_back(r);
        }
        if (reverse) std::reverse(order.begin(), order.end());
        for (const uint32_t replica : order) {
          UpdateId id = job.NextStep();
          id.round = round;
          id.replica = replica;
          ASSERT_OK(Push(job, job.chief(), id, "w", gradients[replica]));
        }
        RoundRequest commit;
        commit.fence = job.fence();
        commit.round = round;
        commit.replicas = {3, 0, 2, 1};
        ASSERT_OK(job.Run(job.chief(), job.chief().Commit(commit)));
        reference.Round(gradients, 1.0 / kReplicas);
      }
      const absl::StatusOr<std::vector<float>> values = job.Read("w");
      ASSERT_OK(values);
      for (size_t i = 0; i < kSize; ++i) {
        EXPECT_EQ(std::bit_cast<uint32_t>((*values)[i]),
                  std::bit_cast<uint32_t>(reference.values()[i]))
            << i << " of " << workers << " workers";
      }
    }
  }
}

TEST(SyncOrderTest, RowsToo) {
  constexpr int64_t kRows = 11;
  std::vector<std::vector<float>> results;
  std::vector<uint32_t> order = {0, 1, 2};
  do {
    ParameterJob job({.servers = 2});
    VariableSpec spec = Spec("w", {kRows, 2});
    spec.optimizer = Adagrad{.learning_rate = 0.1};
    spec.update = Sync{.replicas = 3};
    ASSERT_OK(job.Create({spec}, FixedShards(2)));
    for (const uint32_t replica : order) {
      UpdateId id = job.NextStep();
      id.round = 1;
      id.replica = replica;
      // Overlapping, with duplicates.
      const std::vector<int64_t> ids = {replica, 5, replica + 4, 10, 5};
      ASSERT_OK(Scatter(job, job.chief(), id, "w", ids,
                        SomeGradient(1, replica, 2 * ids.size())));
    }
    RoundRequest commit;
    commit.fence = job.fence();
    commit.round = 1;
    commit.replicas = {0, 1, 2};
    ASSERT_OK(job.Run(job.chief(), job.chief().Commit(commit)));
    const absl::StatusOr<std::vector<float>> values = job.Read("w");
    ASSERT_OK(values);
    results.push_back(*values);
  } while (std::next_permutation(order.begin(), order.end()));
  for (const std::vector<float>& result : results) {
    EXPECT_EQ(result, results[0]);
  }
}

}  // namespace
}  // namespace capstan

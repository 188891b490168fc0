// Snapshots: what they hold does not change, and costs no more than it must.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <stop_token>
#include <thread>
#include <vector>

#include "parameters/saving.h"

namespace capstan {
namespace {

using absl::StatusCode::kFailedPrecondition;
using absl::StatusCode::kNotFound;
using absl::StatusCode::kOutOfRange;
using absl::StatusCode::kResourceExhausted;
using testing::DropSnapshot;
using ::testing::HasSubstr;
using testing::ParameterJob;
using testing::Parts;
using testing::Plain;
using testing::Push;
using testing::ReadParts;
using testing::Scatter;
using testing::SnapshotParts;
using testing::SomeGradient;
using testing::Spec;
using testing::SpecsWithSlots;
using testing::StatusIs;
using testing::TakeSnapshot;

// Without the record of updates, as if all steps had ended.
uint64_t BytesUsed(ParameterJob& job) {
  const uint64_t watermark = job.NextStep().step;
  EXPECT_OK(
      job.Run(job.chief(), job.chief().SetWatermark({.fence = job.fence(),
                                                     .watermark = watermark})));
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < job.map().servers(); ++i) {
    bytes += job.Status(i).bytes_used;
  }
  return bytes;
}

// Memory is given back when the last answer has left, which may be a little
// after it has arrived: looks until there is no more than `bytes`, or for so
// long that it will not be.
uint64_t SettledBytes(ParameterJob& job, uint64_t bytes) {
  for (int i = 0; i < 1000 && BytesUsed(job) > bytes; ++i) {
    std::this_thread::yield();
  }
  return BytesUsed(job);
}

// Which updates come after a snapshot.
enum class After { kDense, kRows, kSet, kDenseThenRows };

class SnapshotAfterTest : public ::testing::TestWithParam<After> {
 protected:
  static void Update(ParameterJob& job, const std::string& name,
                     uint64_t seed) {
    const std::vector<int64_t> ids = {12, 0, 7, 12, 4, 5, 9};
    const After after = GetParam();
    if (after == After::kDense || after == After::kDenseThenRows) {
      ASSERT_OK(
          Push(job, job.chief(), job.NextStep(), name, SomeGradient(seed, 39)));
    }
    if (after == After::kRows || after == After::kDenseThenRows) {
      ASSERT_OK(Scatter(job, job.chief(), job.NextStep(), name, ids,
                        SomeGradient(seed, 3 * ids.size())));
    }
    if (after == After::kSet) {
      ASSERT_OK(Push(job, job.chief(), job.NextStep(), name,
                     SomeGradient(seed, 39), Operation::kSet));
    }
  }
};

TEST_P(SnapshotAfterTest, NothingChangesIt) {
  ParameterJob job({.servers = 2});
  const std::vector<VariableSpec> specs = SpecsWithSlots({13, 3});
  ASSERT_OK(job.Create(specs, FixedShards(3)));
  for (const VariableSpec& spec : specs) {
    ASSERT_OK(
        Push(job, job.chief(), job.NextStep(), spec.name, SomeGradient(1, 39)));
  }
  const uint64_t used = BytesUsed(job);
  std::map<std::string, Parts> before;
  for (const VariableSpec& spec : specs) {
    before[spec.name] = ReadParts(job, spec.name);
  }
  const auto replies = TakeSnapshot(job, 7);
  ASSERT_OK(replies);
  for (const SnapshotReply& reply : *replies) EXPECT_TRUE(reply.copied);
  for (uint64_t seed = 2; seed < 5; ++seed) {
    for (const VariableSpec& spec : specs) Update(job, spec.name, seed);
  }
  for (const VariableSpec& spec : specs) {
    EXPECT_EQ(SnapshotParts(job, spec.name, 7), before[spec.name]) << spec.name;
    const Parts now = ReadParts(job, spec.name);
    EXPECT_NE(now[0], before[spec.name][0]) << spec.name;
    if (GetParam() != After::kSet) {
      EXPECT_NE(now[1], before[spec.name][1]) << spec.name;
    }
  }
  EXPECT_EQ(BytesUsed(job), 2 * used);
  ASSERT_OK(DropSnapshot(job, 7));
  EXPECT_EQ(SettledBytes(job, used), used);
}

// The same updates with and without a snapshot give the same.
TEST_P(SnapshotAfterTest, ItChangesNothing) {
  const std::vector<VariableSpec> specs = SpecsWithSlots({13, 3});
  ParameterJob with;
  ParameterJob without;
  ASSERT_OK(with.Create(specs, FixedShards(2)));
  ASSERT_OK(without.Create(specs, FixedShards(2)));
  for (uint64_t seed = 1; seed < 5; ++seed) {
    ASSERT_OK(TakeSnapshot(with, seed));
    for (const VariableSpec& spec : specs) {
      Update(with, spec.name, seed);
      Update(without, spec.name, seed);
    }
    if (seed == 3) {
      ASSERT_OK(DropSnapshot(with, 3));
    }
  }
  for (const VariableSpec& spec : specs) {
    EXPECT_EQ(ReadParts(with, spec.name), ReadParts(without, spec.name));
  }
}

INSTANTIATE_TEST_SUITE_P(Updates, SnapshotAfterTest,
                         ::testing::Values(After::kDense, After::kRows,
                                           After::kSet, After::kDenseThenRows));

// Large gradients are applied as they arrive, to memory beside the shard's.
TEST(SnapshotTest, StreamedUpdatesDoNotChangeIt) {
  constexpr int64_t kJustStreamed = (4 << 20) / sizeof(float) + 100;
  ParameterJob job;
  VariableSpec spec = Spec("w", {kJustStreamed});
  spec.optimizer = Adam{.learning_rate = 0.1};
  ASSERT_OK(job.Create({spec}));
  const uint64_t state = BytesUsed(job);
  const auto push = [&](uint64_t seed) {
    return Push(job, job.chief(), job.NextStep(), "w",
                SomeGradient(seed, kJustStreamed));
  };
  // Without memory for a second version at hand, and with.
  for (uint64_t save_id = 1; save_id <= 2; ++save_id) {
    const Parts before = ReadParts(job, "w");
    ASSERT_OK(TakeSnapshot(job, save_id));
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      ASSERT_OK(push(10 * save_id + seed));
      // A snapshot makes no third version.
      EXPECT_LE(BytesUsed(job), 2 * state);
    }
    EXPECT_EQ(SnapshotParts(job, "w", save_id), before);
    EXPECT_NE(ReadParts(job, "w"), before);
    ASSERT_OK(DropSnapshot(job, save_id));
    // The memory beside it is for the next version, as after any such update.
    EXPECT_LE(SettledBytes(job, 2 * state), 2 * state);
    ASSERT_OK(push(10 * save_id));
    EXPECT_EQ(BytesUsed(job), 2 * state);
  }
}

TEST(SnapshotTest, RoundsDoNotChangeIt) {
  ParameterJob job;
  std::vector<VariableSpec> specs = SpecsWithSlots({13, 3});
  for (VariableSpec& spec : specs) spec.update = Sync{.replicas = 1};
  ASSERT_OK(job.Create(specs, FixedShards(2)));
  std::map<std::string, Parts> before;
  for (uint64_t round = 1; round <= 3; ++round) {
    if (round == 2) {
      for (const VariableSpec& spec : specs) {
        before[spec.name] = ReadParts(job, spec.name);
      }
      const auto replies = TakeSnapshot(job, 1);
      ASSERT_OK(replies);
      EXPECT_EQ((*replies)[0].committed_round, 1u);
    }
    for (const VariableSpec& spec : specs) {
      UpdateId id = job.NextStep();
      id.round = round;
      ASSERT_OK(Push(job, job.chief(), id, spec.name, SomeGradient(round, 39)));
    }
    ASSERT_OK(job.Run(job.chief(), job.chief().Commit({.fence = job.fence(),
                                                       .round = round,
                                                       .replicas = {0}})));
  }
  for (const VariableSpec& spec : specs) {
    EXPECT_EQ(SnapshotParts(job, spec.name, 1), before[spec.name]);
    EXPECT_NE(ReadParts(job, spec.name), before[spec.name]);
  }
}

TEST(SnapshotTest, SaysWhatItHolds) {
  ParameterJob job;
  VariableSpec unset = Plain("unset", {4});
  unset.initializer = Unset{};
  VariableSpec nadam = Spec("w", {4});
  nadam.optimizer = Nadam{};
  ASSERT_OK(job.Create({unset, nadam}, FixedShards(2)));
  const std::vector<float> ones(4, 1);
  ASSERT_OK(Push(job, job.chief(), job.NextStep(), "w", ones));
  ASSERT_OK(Push(job, job.chief(), job.NextStep(), "w", ones));
  ASSERT_OK(Push(job, job.chief(), job.NextStep(), "w", ones, Operation::kSet));
  ASSERT_OK(job.Run(job.chief(), job.chief().SetWatermark(
                                     {.fence = job.fence(), .watermark = 2})));
  const auto replies = TakeSnapshot(job, 1);
  ASSERT_OK(replies);
  ASSERT_EQ(replies->size(), 1u);
  const SnapshotReply& reply = (*replies)[0];
  EXPECT_EQ(reply.watermark, 2u);
  ASSERT_EQ(reply.shards.size(), 2u);  // of 'w', as 'unset' has no values
  for (uint32_t i = 0; i < 2; ++i) {
    const SnapshotShard& shard = reply.shards[i];
    EXPECT_EQ(shard.key, (ShardKey{.variable = job.Id("w"), .shard = i}));
    EXPECT_EQ(shard.version, 4u);
    EXPECT_EQ(shard.updates, 2u);
    EXPECT_EQ(shard.applied, 3u);
    EXPECT_LT(shard.momentum_product, 1);
    EXPECT_GT(shard.momentum_product, 0);
  }
}

TEST(SnapshotTest, WithoutMemoryItIsAsGoodButUpdatesAreRefused) {
  ParameterJob job({.memory_limit = 15'000});
  VariableSpec spec = Spec("w", {1000});
  spec.optimizer = Momentum{};
  ASSERT_OK(job.Create({spec}));
  const std::vector<float> ones(1000, 1);
  ASSERT_OK(Push(job, job.chief(), job.NextStep(), "w", ones));
  const Parts before = ReadParts(job, "w");
  const auto replies = TakeSnapshot(job, 1);
  ASSERT_OK(replies);
  EXPECT_FALSE((*replies)[0].copied);
  EXPECT_EQ(BytesUsed(job), 8000u);
  EXPECT_THAT(Push(job, job.chief(), job.NextStep(), "w", ones),
              StatusIs(kResourceExhausted, HasSubstr("variable 'w'")));
  EXPECT_THAT(Scatter(job, job.chief(), job.NextStep(), "w", {1},
                      std::vector<float>{1}),
              StatusIs(kResourceExhausted));
  EXPECT_EQ(SnapshotParts(job, "w", 1), before);
  EXPECT_EQ(ReadParts(job, "w"), before);
  ASSERT_OK(DropSnapshot(job, 1));
  ASSERT_OK(Push(job, job.chief(), job.NextStep(), "w", ones));
  EXPECT_EQ(BytesUsed(job), 8000u);
}

TEST(SnapshotTest, TheSameIdIsTheSameAndAnotherReplacesIt) {
  ParameterJob job({.servers = 2});
  ASSERT_OK(job.Create({Spec("w", {4})}, FixedShards(2)));
  const uint64_t used = BytesUsed(job);
  const std::vector<float> ones(4, 1);
  const auto first = TakeSnapshot(job, 1);
  ASSERT_OK(first);
  const Parts before = ReadParts(job, "w");
  ASSERT_OK(Push(job, job.chief(), job.NextStep(), "w", ones));
  EXPECT_EQ(*TakeSnapshot(job, 1), *first);
  EXPECT_EQ(SnapshotParts(job, "w", 1), before);
  const auto second = TakeSnapshot(job, 2);
  ASSERT_OK(second);
  EXPECT_EQ((*second)[0].shards[0].version, 2u);
  EXPECT_EQ(SnapshotParts(job, "w", 2), ReadParts(job, "w"));
  SnapshotReadRequest old;
  old.fence = job.fence();
  old.save_id = 1;
  old.key = {.variable = job.Id("w"), .shard = 0};
  EXPECT_THAT(job.Run(job.chief(), job.chief().SnapshotRead(0, old, {})),
              StatusIs(kNotFound, HasSubstr("no snapshot 1, but 2")));
  // Dropping what is not there does nothing.
  ASSERT_OK(DropSnapshot(job, 1));
  EXPECT_EQ(SnapshotParts(job, "w", 2), ReadParts(job, "w"));
  ASSERT_OK(DropSnapshot(job, 2));
  ASSERT_OK(DropSnapshot(job, 2));
  EXPECT_EQ(SettledBytes(job, used), used);
}

TEST(SnapshotTest, ANewGenerationHasNone) {
  ParameterJob job;
  ASSERT_OK(job.Create({Spec("w", {1000})}));
  ASSERT_OK(TakeSnapshot(job, 1));
  const Fence old = job.fence();
  ASSERT_OK(job.NextGeneration());
  EXPECT_EQ(BytesUsed(job), 4000u);
  EXPECT_THAT(
      job.Run(job.chief(), job.chief().Snapshot({.fence = old, .save_id = 2})),
      StatusIs(kFailedPrecondition, HasSubstr("fenced")));
  SnapshotReadRequest read;
  read.fence = job.fence();
  read.save_id = 1;
  read.key = {.variable = job.Id("w"), .shard = 0};
  EXPECT_THAT(job.Run(job.chief(), job.chief().SnapshotRead(0, read, {})),
              StatusIs(kNotFound));
  ASSERT_OK(TakeSnapshot(job, 1));
}

TEST(SnapshotTest, AnOldCoordinatorIsFenced) {
  ParameterJob job;
  ASSERT_OK(job.Create({Spec("w", {4})}));
  ASSERT_OK(TakeSnapshot(job, 1));
  const Fence old = job.fence();
  job.set_term(old.term + 1);
  ASSERT_OK(TakeSnapshot(job, 2));
  const auto fenced = StatusIs(kFailedPrecondition, HasSubstr("fenced"));
  ParameterClient& chief = job.chief();
  const SnapshotRequest request = {.fence = old, .save_id = 2};
  EXPECT_THAT(job.Run(chief, chief.Snapshot(request)), fenced);
  EXPECT_THAT(job.Run(chief, chief.SnapshotDrop(request)), fenced);
  SnapshotReadRequest read;
  read.fence = old;
  read.save_id = 2;
  read.key = {.variable = job.Id("w"), .shard = 0};
  EXPECT_THAT(job.Run(chief, chief.SnapshotRead(0, read, {})), fenced);
  SnapshotWriteRequest write;
  write.fence = old;
  write.save_id = 2;
  EXPECT_THAT(job.Run(chief, chief.SnapshotWrite(0, write)), fenced);
  EXPECT_EQ(SnapshotParts(job, "w", 2), ReadParts(job, "w"));
}

TEST(SnapshotTest, ReadsThatMakeNoSense) {
  ParameterJob job;
  ASSERT_OK(job.Create({Spec("w", {4, 2})}, FixedShards(2)));
  ASSERT_OK(TakeSnapshot(job, 1));
  std::vector<float> rows(4);
  SnapshotReadRequest request;
  request.fence = job.fence();
  request.save_id = 1;
  request.key = {.variable = job.Id("w"), .shard = 1};
  request.end = 2;
  const auto read = [&] {
    return job.Run(job.chief(), job.chief().SnapshotRead(
                                    0, request, testing::BytesOf(rows)));
  };
  EXPECT_OK(read());
  request.end = 1;
  EXPECT_THAT(read(), StatusIs(absl::StatusCode::kInvalidArgument,
                               HasSubstr("8 bytes on server 0, and 16")));
  request.end = 3;
  EXPECT_THAT(read(), StatusIs(kOutOfRange, HasSubstr("2 rows; [0, 3)")));
  request.begin = UINT64_MAX;
  request.end = UINT64_MAX;
  EXPECT_THAT(read(), StatusIs(kOutOfRange));
  request.begin = 0;
  request.end = 2;
  request.slot = 1;
  EXPECT_THAT(read(), StatusIs(kOutOfRange, HasSubstr("0 slots; number 1")));
  request.slot = UINT32_MAX;
  EXPECT_THAT(read(), StatusIs(kOutOfRange));
  request.slot = 0;
  request.key.shard = 2;
  EXPECT_THAT(read(), StatusIs(kNotFound, HasSubstr("no shard 2")));
  EXPECT_THAT(
      job.Run(job.chief(), job.chief().SnapshotRead(1, request, {})),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("server 1")));
}

// While workers train: slots and counts of a shard are of one moment, and do
// not change while they are read.
TEST(SnapshotTest, IsOfOneMomentWhileWorkersTrain) {
  constexpr int64_t kRows = 4000;
  ParameterJob job({.servers = 2});
  VariableSpec spec = Spec("w", {kRows, 4});
  spec.optimizer = Adagrad{.initial_accumulator = 1};
  ASSERT_OK(job.Create({spec}, FixedShards(2)));
  std::vector<ParameterClient*> workers = {&job.NewClient(), &job.NewClient()};
  for (ParameterClient* worker : workers) {
    ASSERT_OK(job.Run(*worker, worker->Refresh()));
  }
  const uint32_t variable = job.Id("w");
  std::atomic<uint64_t> step = 0;
  std::vector<std::jthread> threads;  // end with the test, however it ends
  for (ParameterClient* worker : workers) {
    threads.emplace_back([&, worker](const std::stop_token& stop) {
      const std::vector<float> ones(kRows * 4, 1);
      std::vector<int64_t> ids(kRows);
      for (int64_t i = 0; i < kRows; ++i) ids[static_cast<size_t>(i)] = i;
      while (!stop.stop_requested()) {
        UpdateId id;
        id.fence = job.fence();
        id.step = ++step;
        const DenseItem dense = testing::Dense(variable, ones);
        const RowsItem rows = testing::Rows(variable, ids, ones);
        const auto updated =
            id.step % 2 == 0
                ? job.Run(*worker, worker->Update(id, Operation::kGradient,
                                                  std::span(&dense, 1), {}))
                : job.Run(*worker, worker->Update(id, Operation::kGradient, {},
                                                  std::span(&rows, 1)));
        EXPECT_OK(updated);
      }
    });
  }
  for (uint64_t save_id = 1; save_id <= 20; ++save_id) {
    const uint64_t begun = step;
    const auto replies = TakeSnapshot(job, save_id);
    ASSERT_OK(replies);
    while (step < begun + 4) std::this_thread::yield();
    const Parts parts = SnapshotParts(job, "w", save_id);
    const std::span<const float> slots(
        reinterpret_cast<const float*>(parts[1].data()), kRows * 4);
    for (uint32_t shard = 0; shard < 2; ++shard) {
      const SnapshotShard& info = (*replies)[0].shards[0].key.shard == shard
                                      ? (*replies)[0].shards[0]
                                      : (*replies)[1].shards[0];
      EXPECT_EQ(info.updates, info.applied);
      EXPECT_EQ(info.version, info.updates + 1);
      for (const float slot : slots.subspan(shard * kRows * 2, kRows * 2)) {
        ASSERT_EQ(slot, static_cast<float>(1 + info.updates));
      }
    }
    EXPECT_EQ(SnapshotParts(job, "w", save_id), parts);
    if (save_id % 2 == 0) {
      ASSERT_OK(DropSnapshot(job, save_id));
    }
  }
}

}  // namespace
}  // namespace capstan

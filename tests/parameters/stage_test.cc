// Restoring: rows that are staged take effect together, or not at all.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "parameters/saving.h"

namespace capstan {
namespace {

using absl::StatusCode::kAborted;
using absl::StatusCode::kFailedPrecondition;
using absl::StatusCode::kInvalidArgument;
using absl::StatusCode::kOutOfRange;
using absl::StatusCode::kResourceExhausted;
using ::testing::AllOf;
using testing::BytesOf;
using testing::CommitAll;
using testing::CommitOf;
using testing::Counting;
using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::kLarge;
using testing::ParameterJob;
using testing::Parts;
using testing::Plain;
using testing::Push;
using testing::ReadParts;
using testing::SomeGradient;
using testing::Spec;
using testing::SpecsWithSlots;
using testing::StageParts;
using testing::StatusIs;
using testing::TakeSnapshot;

std::vector<std::string> NamesOf(const std::vector<VariableSpec>& specs) {
  std::vector<std::string> names;
  for (const VariableSpec& spec : specs) names.push_back(spec.name);
  return names;
}

Parts AsParts(const std::vector<float>& values) {
  const Bytes bytes = BytesOf(values);
  return {{bytes.begin(), bytes.end()}};
}

// Training goes on as if it had never moved, on other shards and servers.
TEST(StageTest, TrainingGoesOnAsBefore) {
  const std::vector<VariableSpec> specs = SpecsWithSlots({13, 3});
  const std::vector<std::string> names = NamesOf(specs);
  ParameterJob from({.servers = 2});
  ParameterJob to({.servers = 3});
  ASSERT_OK(from.Create(specs, FixedShards(2)));
  ASSERT_OK(to.Create(specs, FixedShards(5)));
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    for (const std::string& name : names) {
      ASSERT_OK(Push(from, from.chief(), from.NextStep(), name,
                     SomeGradient(seed, 39)));
    }
  }
  const uint64_t used = to.Status(0).bytes_used;
  const auto replies = TakeSnapshot(from, 1);
  ASSERT_OK(replies);
  uint64_t restore_id = 0;
  for (const std::string& name : names) {
    ++restore_id;
    ASSERT_OK(StageParts(to, name, restore_id, ReadParts(from, name), 2));
    double product = 1;
    for (const SnapshotShard& shard : (*replies)[0].shards) {
      if (shard.key.variable == from.Id(name)) product = shard.momentum_product;
    }
    ASSERT_OK(CommitAll(to, {name}, restore_id,
                        {.updates = 3, .momentum_product = product},
                        /*slots=*/true));
  }
  EXPECT_EQ(to.Status(0).bytes_used, used);
  for (uint64_t seed = 4; seed <= 6; ++seed) {
    for (const std::string& name : names) {
      for (ParameterJob* job : {&from, &to}) {
        ASSERT_OK(Push(*job, job->chief(), job->NextStep(), name,
                       SomeGradient(seed, 39)));
      }
    }
  }
  for (const std::string& name : names) {
    EXPECT_EQ(ReadParts(to, name), ReadParts(from, name)) << name;
  }
}

class StagedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    VariableSpec spec = Spec("w", {7, 2});
    spec.optimizer = Adagrad{.learning_rate = 1.0, .initial_accumulator = 0.5};
    ASSERT_OK(job_.Create({spec}, FixedShards(2)));  // of 4 and 3 rows
    ASSERT_OK(Push(job_, job_.chief(), job_.NextStep(), "w",
                   std::vector<float>(14, 1)));
    before_ = ReadParts(job_, "w");
    // The record of the update goes.
    ASSERT_OK(job_.Run(
        job_.chief(),
        job_.chief().SetWatermark({.fence = job_.fence(), .watermark = 1})));
    used_ = job_.Status(0).bytes_used;
    request_.fence = job_.fence();
    request_.restore_id = 1;
    request_.key = {.variable = job_.Id("w"), .shard = 0};
    request_.map_version = job_.map().version();
  }

  absl::Status Stage(const std::vector<float>& rows) {
    return job_.Run(job_.chief(),
                    job_.chief().StageRows(0, request_, BytesOf(rows)));
  }
  absl::Status Commit(uint64_t restore_id, bool slots) {
    return CommitAll(job_, {"w"}, restore_id, {.updates = 9}, slots);
  }
  absl::Status Drop(uint64_t restore_id) {
    return job_.Run(job_.chief(),
                    job_.chief().StageDrop(
                        {.fence = job_.fence(), .restore_id = restore_id}));
  }

  ParameterJob job_;
  Parts before_;
  uint64_t used_ = 0;
  StageRowsRequest request_;
  const std::vector<float> values_ = Counting(14, 100);
};

TEST_F(StagedTest, ValuesAloneBeginWithNewSlots) {
  ASSERT_OK(StageParts(job_, "w", 1, AsParts(values_), 3));
  // Nothing has changed yet.
  EXPECT_EQ(ReadParts(job_, "w"), before_);
  EXPECT_EQ(job_.Report("w").version, 2u);
  ASSERT_OK(Commit(1, /*slots=*/false));
  const Parts now = ReadParts(job_, "w");
  EXPECT_EQ(now[0], AsParts(values_)[0]);
  EXPECT_EQ(now[1], AsParts(std::vector<float>(14, 0.5))[0]);
  EXPECT_EQ(job_.Report("w").version, 3u);
  EXPECT_EQ(job_.Status(0).bytes_used, used_);
  // Once more is the same, and changes nothing.
  ASSERT_OK(Commit(1, /*slots=*/false));
  EXPECT_EQ(job_.Report("w").version, 3u);
  // So does a row that comes late.
  request_.end = 1;
  ASSERT_OK(Stage({-1, -1}));
  EXPECT_EQ(job_.Status(0).bytes_used, used_);
  EXPECT_EQ(ReadParts(job_, "w"), now);
  const auto replies = TakeSnapshot(job_, 1);
  ASSERT_OK(replies);
  EXPECT_EQ((*replies)[0].shards[0].updates, 9u);
}

TEST_F(StagedTest, MissingRowsAreNamedAndNothingChanges) {
  EXPECT_THAT(Commit(1, false),
              StatusIs(kFailedPrecondition,
                       HasSubstr("variable 'w', shard 0: rows [0, 4) of the "
                                 "values were not staged")));
  request_.end = 4;
  ASSERT_OK(Stage(Counting(8)));
  request_.key.shard = 1;
  request_.end = 1;
  ASSERT_OK(Stage({1, 2}));
  request_.begin = 2;
  request_.end = 3;
  ASSERT_OK(Stage({5, 6}));
  EXPECT_THAT(Commit(1, false),
              StatusIs(kFailedPrecondition,
                       HasSubstr("variable 'w', shard 1: rows [1, 2) of the "
                                 "values were not staged")));
  EXPECT_EQ(ReadParts(job_, "w"), before_);
  request_.begin = 1;
  request_.end = 2;
  ASSERT_OK(Stage({3, 4}));
  EXPECT_THAT(Commit(1, true),
              StatusIs(kFailedPrecondition,
                       HasSubstr("rows [0, 4) of slot 'accumulator' were")));
  EXPECT_EQ(ReadParts(job_, "w"), before_);
  // What was staged is still there.
  ASSERT_OK(Commit(1, false));
  EXPECT_THAT(job_.Read("w"), IsOkAndHolds(std::vector<float>(
                                  {0, 1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5, 6})));
}

TEST_F(StagedTest, AnotherRestoreOrADropForgetsIt) {
  ASSERT_OK(StageParts(job_, "w", 1, AsParts(values_), 9));
  EXPECT_EQ(job_.Status(0).bytes_used, used_ + 14 * sizeof(float));
  request_.restore_id = 2;
  request_.end = 4;
  ASSERT_OK(Stage(Counting(8)));
  EXPECT_EQ(job_.Status(0).bytes_used, used_ + 8 * sizeof(float));
  EXPECT_THAT(Commit(2, false),
              StatusIs(kFailedPrecondition, HasSubstr("shard 1: rows [0, 3)")));
  ASSERT_OK(Drop(1));  // not the one that there is
  EXPECT_EQ(job_.Status(0).bytes_used, used_ + 8 * sizeof(float));
  ASSERT_OK(Drop(2));
  EXPECT_EQ(job_.Status(0).bytes_used, used_);
  ASSERT_OK(Stage(Counting(8)));
  ASSERT_OK(Drop(0));
  EXPECT_EQ(job_.Status(0).bytes_used, used_);
  EXPECT_THAT(Commit(2, false), StatusIs(kFailedPrecondition));
  EXPECT_EQ(ReadParts(job_, "w"), before_);
}

TEST_F(StagedTest, AnOldCoordinatorIsFenced) {
  const Fence old = job_.fence();
  job_.set_term(old.term + 1);
  ASSERT_OK(StageParts(job_, "w", 1, AsParts(values_), 9));
  const auto fenced = StatusIs(kFailedPrecondition, HasSubstr("fenced"));
  ParameterClient& chief = job_.chief();
  request_.fence = old;
  request_.end = 4;
  EXPECT_THAT(Stage(Counting(8)), fenced);
  StageCommitRequest commit = CommitOf(job_, 0, {"w"}, 1, {}, false);
  commit.fence = old;
  EXPECT_THAT(job_.Run(chief, chief.StageCommit(0, commit)), fenced);
  EXPECT_THAT(job_.Run(chief, chief.StageDrop({.fence = old, .restore_id = 1})),
              fenced);
  StageFileRequest file;
  file.fence = old;
  file.restore_id = 1;
  EXPECT_THAT(job_.Run(chief, chief.StageFile(0, file)), fenced);
  EXPECT_EQ(ReadParts(job_, "w"), before_);
  ASSERT_OK(Commit(1, false));
  EXPECT_EQ(ReadParts(job_, "w")[0], AsParts(values_)[0]);
}

TEST_F(StagedTest, ANewGenerationForgetsIt) {
  ASSERT_OK(StageParts(job_, "w", 1, AsParts(values_), 9));
  ASSERT_OK(job_.NextGeneration());
  EXPECT_EQ(job_.Status(0).bytes_used, used_);
  EXPECT_THAT(Commit(1, false), StatusIs(kFailedPrecondition));
}

TEST_F(StagedTest, RequestsThatMakeNoSense) {
  request_.end = 5;
  EXPECT_THAT(Stage(Counting(10)),
              StatusIs(kOutOfRange, HasSubstr("4 rows; [0, 5)")));
  request_.begin = UINT64_MAX;
  request_.end = UINT64_MAX;
  EXPECT_THAT(Stage({}), StatusIs(kOutOfRange));
  request_.begin = 0;
  request_.end = 2;
  EXPECT_THAT(Stage(Counting(5)),
              StatusIs(kInvalidArgument, HasSubstr("16 bytes, and 20 came")));
  request_.slot = 2;
  EXPECT_THAT(Stage(Counting(4)),
              StatusIs(kOutOfRange, HasSubstr("1 slots; number 2")));
  request_.slot = 0;
  request_.key.shard = 2;
  EXPECT_THAT(Stage(Counting(4)), StatusIs(kAborted));
  request_.key.shard = 0;
  const std::vector<float> row(2);
  EXPECT_THAT(job_.Call(0, Method::kStageRows, EncodeStageRowsRequest(request_),
                        {BytesOf(row), BytesOf(row)}),
              StatusIs(kInvalidArgument, HasSubstr("2 attachments")));
  StageCommitRequest commit = CommitOf(job_, 0, {"w"}, 1, {}, false);
  commit.shards[0].key.variable = 1000;
  commit.shards.resize(1);
  EXPECT_THAT(job_.Run(job_.chief(), job_.chief().StageCommit(0, commit)),
              StatusIs(kAborted, HasSubstr("variable 1000")));
  EXPECT_EQ(job_.Status(0).bytes_used, used_);
  EXPECT_EQ(ReadParts(job_, "w"), before_);
}

TEST_F(StagedTest, ASnapshotStaysAsItIs) {
  ASSERT_OK(TakeSnapshot(job_, 3));
  ASSERT_OK(StageParts(job_, "w", 1, AsParts(values_), 9));
  ASSERT_OK(Commit(1, false));
  EXPECT_EQ(testing::SnapshotParts(job_, "w", 3), before_);
  ASSERT_OK(testing::DropSnapshot(job_, 3));
  EXPECT_EQ(job_.Status(0).bytes_used, used_);
}

TEST(StageTest, BoolsAreZeroOrOne) {
  ParameterJob job;
  ASSERT_OK(job.Create({Plain("flags", {3}, DType::kBool)}));
  const std::byte one{1};
  EXPECT_THAT(StageParts(job, "flags", 1, {{one, one, std::byte{2}}}, 9),
              StatusIs(kInvalidArgument, AllOf(HasSubstr("variable 'flags'"),
                                               HasSubstr("element 2"))));
  EXPECT_THAT(CommitAll(job, {"flags"}, 1, {}, false),
              StatusIs(kFailedPrecondition));
  ASSERT_OK(StageParts(job, "flags", 1, {{one, one, std::byte{0}}}, 9));
  ASSERT_OK(CommitAll(job, {"flags"}, 1, {}, false));
  EXPECT_EQ(ReadParts(job, "flags")[0],
            std::vector<std::byte>({one, one, std::byte{0}}));
}

TEST(StageTest, VariablesWithoutValuesAndWithoutRows) {
  ParameterJob job({.servers = 2});
  VariableSpec unset = Spec("unset", {5});
  unset.initializer = Unset{};
  VariableSpec empty = Spec("empty", {0, 3});
  empty.optimizer = Adam{};
  ASSERT_OK(job.Create({unset, empty, Spec("scalar", {})}, FixedShards(2)));
  EXPECT_THAT(job.Read("unset"), StatusIs(kFailedPrecondition));
  const std::vector<float> values = Counting(5, 1);
  ASSERT_OK(StageParts(job, "unset", 1, AsParts(values), 2));
  ASSERT_OK(StageParts(job, "scalar", 1, AsParts({42}), 2));
  ASSERT_OK(CommitAll(job, {"unset", "empty", "scalar"}, 1, {}, true));
  EXPECT_THAT(job.Read("unset"), IsOkAndHolds(values));
  EXPECT_THAT(job.Read("scalar"), IsOkAndHolds(std::vector<float>{42}));
  EXPECT_EQ(job.Report("unset").version, 1u);
  EXPECT_EQ(job.Report("empty").version, 2u);
}

TEST(StageTest, WithoutMemoryItIsRefused) {
  ParameterJob job({.memory_limit = 6'000});
  ASSERT_OK(job.Create({Plain("w", {1000})}));
  EXPECT_THAT(StageParts(job, "w", 1, AsParts(Counting(1000)), 9999),
              StatusIs(kResourceExhausted, HasSubstr("variable 'w'")));
  EXPECT_EQ(job.Status(0).bytes_used, 4000u);
}

// A round that was open belongs to what was before.
TEST(StageTest, ContributionsOfOpenRoundsAreDropped) {
  ParameterJob job;
  VariableSpec spec = Spec("w", {4});
  spec.update = Sync{.replicas = 1};
  ASSERT_OK(job.Create({spec}));
  UpdateId id = job.NextStep();
  id.round = 1;
  ASSERT_OK(Push(job, job.chief(), id, "w", std::vector<float>(4, 1)));
  ASSERT_OK(StageParts(job, "w", 1, AsParts(Counting(4)), 9));
  ASSERT_OK(CommitAll(job, {"w"}, 1, {}, true));
  ASSERT_OK(job.Run(
      job.chief(),
      job.chief().Commit({.fence = job.fence(), .round = 1, .replicas = {0}})));
  EXPECT_THAT(job.Read("w"), IsOkAndHolds(Counting(4)));
  EXPECT_EQ(job.Report("w").dropped, 1u);
  EXPECT_EQ(job.Status(0).bytes_used, 16u);
}

// An update that arrives while the shard is restored is computed from what is
// not there any more; it is sent again, and applied once.
TEST(StageTest, AnUpdateThatIsArrivingIsAppliedAfterwards) {
  ParameterJob job;
  ASSERT_OK(job.Create({Spec("w", {kLarge})}));
  ParameterClient& worker = job.NewClient();
  ASSERT_OK(job.Run(worker, worker.Refresh()));
  const std::vector<float> ones(kLarge, 1);
  const std::vector<float> tens(kLarge, 10);
  ASSERT_OK(StageParts(job, "w", 1, AsParts(tens), kLarge));
  job.HoldAfter(6 << 20);
  const DenseItem item = testing::Dense(job.Id("w"), ones);
  auto update =
      job.Start(worker, worker.Update(job.NextStep(), Operation::kGradient,
                                      std::span(&item, 1), {}));
  job.AwaitHeld();
  ASSERT_OK(CommitAll(job, {"w"}, 1, {}, true));
  job.Release();
  ASSERT_OK(update.get());
  EXPECT_THAT(job.Read("w"), IsOkAndHolds(std::vector<float>(kLarge, 9)));
  EXPECT_EQ(job.Report("w").applied, 1u);
}

}  // namespace
}  // namespace capstan

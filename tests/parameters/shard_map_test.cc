// The shard map as it changes under the hands of those who use it.
#include <gtest/gtest.h>

#include <vector>

#include "parameters/helpers.h"
#include "wire/shard_map_codec.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using testing::HandRequest;
using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::ParameterJob;
using testing::Push;
using testing::ReadAs;
using testing::Spec;
using testing::StatusIs;

TEST(ShardMapTest, AClientFetchesANewerMapByItself) {
  ParameterJob job({.servers = 2});
  ASSERT_OK(job.Create({Spec("a", {4})}, FixedShards(2)));
  // It has no map at all before its first call.
  ParameterClient& worker = job.NewClient();
  EXPECT_THAT(ReadAs<float>(job, worker, "a"),
              IsOkAndHolds(std::vector<float>(4)));
  EXPECT_THAT(worker.Find("b"), StatusIs(absl::StatusCode::kNotFound,
                                         HasSubstr("no variable 'b'")));
  // And an old one after another has installed a new one.
  absl::StatusOr<ShardMap> map =
      AddVariables(job.map(), {Spec("b", {3, 2})}, FixedShards(2));
  ASSERT_OK(map);
  ASSERT_OK(job.Run(job.chief(), job.chief().Install(*map, 1, 0)));
  const uint32_t b = map->Find("b")->id;
  std::vector<float> values(6, 7);
  PullItem item;
  item.variable = b;
  item.into = testing::BytesOf(values);
  ASSERT_OK(job.Run(worker, worker.Pull(std::span(&item, 1))));
  EXPECT_EQ(values, std::vector<float>(6));
  EXPECT_EQ(worker.map()->version(), map->version());
  ASSERT_OK(worker.Find("b"));
}

TEST(ShardMapTest, WhatWasDroppedIsNotFound) {
  ParameterJob job({.servers = 2});
  ASSERT_OK(job.Create({Spec("a", {4}), Spec("b", {4})}, FixedShards(2)));
  ParameterClient& worker = job.NewClient();
  ASSERT_OK(job.Run(worker, worker.Refresh()));
  const uint32_t a = job.Id("a");
  // Behind the worker's back.
  const std::vector<std::string> names = {"a"};
  absl::StatusOr<ShardMap> map = DropVariables(job.map(), names);
  ASSERT_OK(map);
  ASSERT_OK(job.Run(job.chief(), job.chief().Install(*map, 1, 0)));
  std::vector<float> values(4);
  const auto is_gone =
      StatusIs(absl::StatusCode::kNotFound,
               AllOf(HasSubstr("variable 1"), HasSubstr("dropped")));
  PullItem pull;
  pull.variable = a;
  pull.into = testing::BytesOf(values);
  EXPECT_THAT(job.Run(worker, worker.Pull(std::span(&pull, 1))), is_gone);
  const DenseItem push = testing::Dense(a, values);
  EXPECT_THAT(
      job.Run(worker, worker.Update(job.NextStep(), Operation::kGradient,
                                    std::span(&push, 1), {})),
      is_gone);
  const std::vector<int64_t> ids = {1};
  std::vector<float> row(1);
  GatherItem gather;
  gather.variable = a;
  gather.ids = ids;
  gather.into = testing::BytesOf(row);
  EXPECT_THAT(job.Run(worker, worker.Gather(std::span(&gather, 1))), is_gone);
  EXPECT_THAT(job.Run(worker, worker.ReadRows(a, 0, 1, testing::BytesOf(row))),
              is_gone);
  // The rest is as it was.
  EXPECT_THAT(ReadAs<float>(job, worker, "b"),
              IsOkAndHolds(std::vector<float>(4)));
}

// Those that find the map old at the same time do not wait for two newer ones.
TEST(ShardMapTest, ManyCallsFetchANewerMapAtOnce) {
  ParameterJob job({.servers = 2});
  ASSERT_OK(job.Create({Spec("a", {4})}, FixedShards(2)));
  ParameterClient& worker = job.NewClient();
  ASSERT_OK(job.Run(worker, worker.Refresh()));
  absl::StatusOr<ShardMap> map =
      AddVariables(job.map(), {Spec("b", {4})}, FixedShards(2));
  ASSERT_OK(map);
  ASSERT_OK(job.Run(job.chief(), job.chief().Install(*map, 1, 0)));
  constexpr size_t kCalls = 8;
  std::vector<std::vector<float>> values(kCalls, std::vector<float>(4, 7));
  std::vector<PullItem> items(kCalls);
  std::vector<std::future<absl::Status>> pulls;
  for (size_t i = 0; i < kCalls; ++i) {
    items[i].variable = map->Find("b")->id;
    items[i].into = testing::BytesOf(values[i]);
    pulls.push_back(job.Start(worker, worker.Pull(std::span(&items[i], 1))));
  }
  for (std::future<absl::Status>& pull : pulls) EXPECT_OK(pull.get());
  for (const std::vector<float>& value : values) {
    EXPECT_EQ(value, std::vector<float>(4));
  }
}

TEST(ShardMapTest, AVariableThatNobodyKnowsTimesOutByName) {
  ParameterJob job;
  ASSERT_OK(job.Create({Spec("a", {4})}));
  std::vector<float> values(4);
  PullItem item;
  item.variable = 99;
  item.into = testing::BytesOf(values);
  ReadOptions options;
  options.timeout = std::chrono::milliseconds(200);
  EXPECT_THAT(
      job.Run(job.chief(), job.chief().Pull(std::span(&item, 1), options)),
      StatusIs(absl::StatusCode::kDeadlineExceeded,
               HasSubstr("variable 99 is not in version 1")));
}

TEST(ShardMapTest, InstallingTwiceChangesNothing) {
  ParameterJob job({.servers = 2});
  ASSERT_OK(job.Create({Spec("a", {4})}, FixedShards(2)));
  ASSERT_OK(
      Push(job, job.chief(), job.NextStep(), "a", std::vector<float>(4, 1)));
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(job.Run(job.chief(), job.chief().Install(job.map(), 1, 0)));
  }
  EXPECT_THAT(job.Read("a"), IsOkAndHolds(std::vector<float>(4, -1)));
  EXPECT_EQ(job.Report("a").version, 2u);
}

TEST(ShardMapTest, WhatIsThereStaysWhenMoreIsAdded) {
  ParameterJob job({.servers = 3});
  ASSERT_OK(job.Create({Spec("a", {5})}, FixedShards(3)));
  const UpdateId id = job.NextStep();
  ASSERT_OK(Push(job, job.chief(), id, "a", std::vector<float>(5, 1)));
  ASSERT_OK(job.Create({Spec("b", {5})}, FixedShards(3)));
  EXPECT_THAT(job.Read("a"), IsOkAndHolds(std::vector<float>(5, -1)));
  EXPECT_THAT(job.Read("b"), IsOkAndHolds(std::vector<float>(5, 0)));
  // With what is known of the steps.
  ASSERT_OK(Push(job, job.chief(), id, "a", std::vector<float>(5, 1)));
  EXPECT_THAT(job.Read("a"), IsOkAndHolds(std::vector<float>(5, -1)));
}

TEST(ShardMapTest, AnOldMapIsRefused) {
  ParameterJob job;
  ASSERT_OK(job.Create({Spec("a", {4})}));
  const ShardMap old = job.map();
  ASSERT_OK(job.Create({Spec("b", {4})}));
  EXPECT_THAT(job.Run(job.chief(), job.chief().Install(old, 1, 0)),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("fenced: a shard map of version 1, and there "
                                 "is one of version 2")));
  ASSERT_OK(job.NextGeneration());
  absl::StatusOr<ShardMap> newer_version =
      ShardMap::Make(1, 100, 1, {old.entries().begin(), old.entries().end()});
  ASSERT_OK(newer_version);
  EXPECT_THAT(job.Run(job.chief(), job.chief().Install(*newer_version, 1, 0)),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("generation 1")));
  EXPECT_THAT(job.Read("b"), IsOkAndHolds(std::vector<float>(4)));
}

TEST(ShardMapTest, AMapOfVersionZeroIsRefused) {
  ParameterJob job;
  const absl::StatusOr<ShardMap> map = ShardMap::Make(1, 0, 1, {});
  ASSERT_THAT(map, testing::IsOk());
  EXPECT_THAT(
      job.Run(job.chief(), job.chief().Install(*map, 1, 0)),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("version 0")));
}

TEST(ShardMapTest, AnotherMapOfTheSameVersionIsRefused) {
  ParameterJob job;
  ASSERT_OK(job.Create({Spec("a", {4})}));
  // Otherwise the shard of `a` would be taken for that of `b`.
  absl::StatusOr<ShardMap> empty = ShardMap::Make(1, 0, 1, {});
  ASSERT_OK(empty);
  absl::StatusOr<ShardMap> other =
      AddVariables(*empty, {Spec("b", {400})}, FixedShards(1));
  ASSERT_OK(other);
  EXPECT_THAT(job.Run(job.chief(), job.chief().Install(*other, 1, 0)),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("another shard map of version 1")));
  EXPECT_THAT(job.Read("a"), IsOkAndHolds(std::vector<float>(4)));
}

TEST(ShardMapTest, AMapForOtherServersIsRefused) {
  ParameterJob job({.servers = 2});
  absl::StatusOr<ShardMap> map = ShardMap::Make(1, 1, 3, {});
  ASSERT_OK(map);
  EXPECT_THAT(job.Run(job.chief(), job.chief().Install(*map, 1, 0)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("3 servers in a job of 2")));
}

TEST(ShardMapTest, AServerSaysWhichMapIsTheOlder) {
  ParameterJob job({.servers = 2});
  ASSERT_OK(job.Create({Spec("a", {4})}, FixedShards(2)));
  ASSERT_OK(job.Drop({"a"}));
  ASSERT_OK(job.Create({Spec("b", {4})}, FixedShards(2)));
  ShardsRequest request = HandRequest(job, "b", 0);
  const uint32_t server = 1 - job.map().Find("b")->shards[0].server;
  // The other server has not that shard, and knows better.
  EXPECT_THAT(job.Call(server, Method::kPull, EncodeShardsRequest(request)),
              StatusIs(absl::StatusCode::kAborted,
                       AllOf(HasSubstr("shard 0 of variable 'b' is not on "
                                       "this server"),
                             HasSubstr("version 3"))));
  // Or does not know yet.
  request.map_version = 17;
  EXPECT_THAT(job.Call(server, Method::kPull, EncodeShardsRequest(request)),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("has not heard of version 17")));
  request.id.fence.generation = 2;
  EXPECT_THAT(job.Call(server, Method::kPull, EncodeShardsRequest(request)),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("has not heard of 2")));
}

TEST(ShardMapTest, APullThatWaitsEndsWithItsGeneration) {
  ParameterJob job;
  VariableSpec spec = Spec("a", {4});
  spec.update = Sync{.replicas = 1};
  ASSERT_OK(job.Create({spec}));
  ParameterClient& worker = job.NewClient();
  ASSERT_OK(job.Run(worker, worker.Refresh()));
  std::vector<float> values(4);
  PullItem item;
  item.variable = job.Id("a");
  item.into = testing::BytesOf(values);
  ReadOptions options;
  options.round = 2;
  options.timeout = std::chrono::minutes(10);
  const uint64_t before = job.Requests(0);
  std::future<absl::Status> pull =
      job.Start(worker, worker.Pull(std::span(&item, 1), options));
  while (job.Requests(0) == before) std::this_thread::yield();
  ASSERT_OK(job.NextGeneration());
  EXPECT_THAT(pull.get(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                   HasSubstr("fenced")));
}

VariableSpec With(const Optimizer& optimizer) {
  VariableSpec spec = Spec("a", {4});
  spec.optimizer = optimizer;
  return spec;
}

// `map` with another optimizer for all variables, one version higher.
ShardMap With(const ShardMap& map, const Optimizer& optimizer) {
  std::vector<VariableEntry> entries(map.entries().begin(),
                                     map.entries().end());
  for (VariableEntry& entry : entries) entry.spec.optimizer = optimizer;
  return ShardMap::Make(map.generation(), map.version() + 1, map.servers(),
                        std::move(entries), map.next_id())
      .value();
}

TEST(ShardMapTest, AnotherLearningRateCountsFromTheNextUpdateOn) {
  ParameterJob job({.servers = 2});
  ASSERT_OK(job.Create({With(Sgd{.learning_rate = 1.0})}, FixedShards(2)));
  ParameterClient& worker = job.NewClient();
  const std::vector<float> gradient = {1, 2, 3, 4};
  const DenseItem item = testing::Dense(job.Id("a"), gradient);
  const auto push = [&] {
    return job.Run(worker, worker.Update(job.NextStep(), Operation::kGradient,
                                         std::span(&item, 1), {}));
  };
  ASSERT_OK(push());
  EXPECT_THAT(job.Read("a"), IsOkAndHolds(std::vector<float>{-1, -2, -3, -4}));
  const ShardMap map = With(job.map(), Sgd{.learning_rate = 10.0});
  ASSERT_OK(job.Run(job.chief(), job.chief().Install(map, 1, 0)));
  ASSERT_OK(push());
  EXPECT_THAT(job.Read("a"),
              IsOkAndHolds(std::vector<float>{-11, -22, -33, -44}));
}

TEST(ShardMapTest, AnotherRuleOrOtherSlotsAreRefused) {
  ParameterJob job({.servers = 2});
  ASSERT_OK(job.Create({With(Adam{})}, FixedShards(2)));
  const auto install = [&](const Optimizer& optimizer) {
    return job.Run(job.chief(),
                   job.chief().Install(With(job.map(), optimizer), 1, 0));
  };
  EXPECT_THAT(install(Sgd{}), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("rule of its optimizer")));
  EXPECT_THAT(install(Adam{.amsgrad = true}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("slots of its optimizer")));
}

}  // namespace
}  // namespace capstan

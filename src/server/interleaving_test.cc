// What other threads do between two turns of a request.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "testing/status_matchers.h"
#include "testing/stepped_server.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;
using testing::SteppedServer;

// f32, zeros, and Sgd with rate 1: a gradient is subtracted unchanged.
VariableSpec Spec(const std::string& name, int64_t size) {
  VariableSpec spec;
  spec.name = name;
  spec.shape = {size};
  spec.optimizer = Sgd{.learning_rate = 1.0};
  return spec;
}

ShardMap MapOf(std::vector<VariableSpec> specs) {
  const ShardMap empty = ShardMap::Make(1, 0, 1, {}).value();
  return AddVariables(empty, std::move(specs), FixedShards(1)).value();
}

std::string BytesOf(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()),
          values.size() * sizeof(float)};
}

std::string WatermarkOf(uint64_t term, uint64_t watermark) {
  WatermarkRequest request;
  request.fence = {.generation = 1, .term = term};
  request.watermark = watermark;
  return EncodeWatermarkRequest(request);
}

class InterleavingTest : public ::testing::Test {
 protected:
  ShardsRequest PushOf(const std::string& name, uint64_t step) {
    ShardsRequest request;
    request.id.fence = {.generation = map_.generation(), .term = 1};
    request.id.step = step;
    request.map_version = map_.version();
    request.parts.push_back({.key = {.variable = map_.Find(name)->id}});
    return request;
  }

  std::string Read(const std::string& name) {
    const SteppedServer::Call pull = server_.Send(
        "worker", Method::kPull, EncodeShardsRequest(PushOf(name, 0)));
    EXPECT_OK(pull->reply.status);
    if (pull->reply.attachments.size() != 1) return "";
    const Bytes bytes = pull->reply.attachments[0];
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  ShardKey KeyOf(const std::string& name) const {
    return {.variable = map_.Find(name)->id};
  }

  ShardMap map_ = MapOf({Spec("w", 4), Spec("x", 4)});
  SteppedServer server_;
};

// The update is applied, and the shard dropped, before the values are
// requested.
TEST_F(InterleavingTest, AShardIsDroppedBeforeAPushGetsItsValues) {
  ASSERT_OK(server_.Install(map_, 1)->reply.status);
  for (const bool by_rows : {false, true}) {
    ShardsRequest request = PushOf("w", by_rows ? 2 : 1);
    request.want_values = true;
    std::vector<std::string> attachments = {BytesOf({1, 2, 3, 4})};
    if (by_rows) attachments.insert(attachments.begin(), std::string(16, '\0'));
    Turn& turn = server_.TurnOf(KeyOf("w"));
    ASSERT_TRUE(turn.TryHold());
    const SteppedServer::Call push =
        server_.Send("worker", by_rows ? Method::kScatter : Method::kPush,
                     EncodeShardsRequest(request), attachments);
    const ShardMap before = map_;
    map_ = DropVariables(map_, std::vector<std::string>{"w"}).value();
    const SteppedServer::Call drop = server_.Install(map_, 1);
    EXPECT_FALSE(push->answered);
    EXPECT_FALSE(drop->answered);
    turn.Release();
    server_.Run();
    ASSERT_TRUE(push->answered);
    EXPECT_THAT(push->reply.status,
                StatusIs(absl::StatusCode::kAborted,
                         HasSubstr("is not here any more")));
    ASSERT_TRUE(drop->answered);
    ASSERT_OK(drop->reply.status);
    map_ = AddVariables(map_, {Spec("w", 4)}, FixedShards(1)).value();
    ASSERT_OK(server_.Install(map_, 1)->reply.status);
  }
}

// A coordinator that takes over is told which map is installed. A map of its
// predecessor must not be installed after that.
TEST_F(InterleavingTest, AMapIsNotPublishedAfterATakeover) {
  ASSERT_OK(server_.Install(map_, 1)->reply.status);
  // Filled in many steps, between which other calls are served.
  const ShardMap next =
      AddVariables(map_, {Spec("y", 4 << 20)}, FixedShards(1)).value();
  InstallRequest install;
  install.term = 1;
  install.map = EncodeShardMap(next);
  const SteppedServer::Call late =
      server_.Begin("chief", Method::kInstall, EncodeInstallRequest(install));
  server_.RunSome(3);
  ASSERT_FALSE(late->answered);
  const SteppedServer::Call takeover = server_.Begin(
      "chief", Method::kWatermark, WatermarkOf(/*term=*/2, /*watermark=*/0));
  server_.Run();
  ASSERT_OK(takeover->reply.status);
  EXPECT_THAT(late->reply.status,
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("term 2 has taken over")));
  EXPECT_EQ(server_.Status().map_version, map_.version());
  // The same for the learning rates in a map.
  const ShardMap slower =
      SetLearningRate(map_, std::vector<std::string>{"w"}, 0.5).value();
  Turn& turn = server_.TurnOf(KeyOf("w"));
  ASSERT_TRUE(turn.TryHold());
  const SteppedServer::Call rate = server_.Install(slower, 2);
  ASSERT_OK(server_.Send("chief", Method::kWatermark, WatermarkOf(3, 0))
                ->reply.status);
  turn.Release();
  server_.Run();
  EXPECT_THAT(rate->reply.status,
              StatusIs(absl::StatusCode::kFailedPrecondition));
  // It is the map all the same; the new coordinator installs it again.
  EXPECT_EQ(server_.Status().map_version, slower.version());
  ASSERT_OK(server_.Install(slower, 3)->reply.status);
}

// A coordinator takes over when one shard has the round and the other does not.
// What it then commits must not differ from what the first shard has.
TEST_F(InterleavingTest, ATakeoverInTheMiddleOfACommit) {
  VariableSpec w = Spec("w", 1);
  VariableSpec x = Spec("x", 1);
  w.update = x.update = Sync{.replicas = 1, .backup = 1};
  map_ = MapOf({w, x});
  ASSERT_OK(server_.Install(map_, 1)->reply.status);
  for (uint32_t replica = 0; replica < 2; ++replica) {
    ShardsRequest push = PushOf("w", 1 + replica);
    push.parts.push_back({.key = KeyOf("x")});
    push.id.round = 1;
    push.id.replica = replica;
    const std::string value = BytesOf({static_cast<float>(1 + replica)});
    ASSERT_OK(server_
                  .Send("worker", Method::kPush, EncodeShardsRequest(push),
                        {value, value})
                  ->reply.status);
  }
  RoundRequest commit;
  commit.fence = {.generation = 1, .term = 1};
  commit.round = 1;
  commit.replicas = {1};
  Turn& turn = server_.TurnOf(KeyOf("x"));
  ASSERT_TRUE(turn.TryHold());
  const SteppedServer::Call first =
      server_.Send("chief", Method::kCommit, EncodeRoundRequest(commit));
  ASSERT_OK(server_.Send("chief", Method::kWatermark, WatermarkOf(2, 0))
                ->reply.status);
  turn.Release();
  server_.Run();
  EXPECT_THAT(first->reply.status,
              StatusIs(absl::StatusCode::kFailedPrecondition));
  const StoreReport report = server_.Status();
  EXPECT_EQ(report.committed_round, 1u);
  EXPECT_EQ(report.committed_replicas, std::vector<uint32_t>{1});
  commit.fence.term = 2;
  ASSERT_OK(server_.Send("chief", Method::kCommit, EncodeRoundRequest(commit))
                ->reply.status);
  for (const char* name : {"w", "x"})
    EXPECT_EQ(Read(name), BytesOf({-2})) << name;
}

// Large enough to be applied as it arrives.
constexpr int64_t kStreamed = 2 << 20;

class SlowSenderTest : public InterleavingTest {
 protected:
  void SetUp() override {
    map_ = MapOf({Spec("w", kStreamed)});
    ASSERT_OK(server_.Install(map_, 1)->reply.status);
  }

  // An update of which `bytes` bytes have arrived.
  SteppedServer::Call Begin(uint64_t step, size_t bytes = SIZE_MAX) {
    const SteppedServer::Call push =
        server_.Begin("worker", Method::kPush,
                      EncodeShardsRequest(PushOf("w", step)), {ones_});
    push->Arrived(bytes);
    server_.Run();
    return push;
  }

  bool AllAre(float value) {
    return Read("w") == BytesOf(std::vector<float>(kStreamed, value));
  }

  const std::string ones_ = BytesOf(std::vector<float>(kStreamed, 1));
};

TEST_F(SlowSenderTest, ACompleteUpdateDoesNotWaitForIt) {
  const SteppedServer::Call slow = Begin(1, 1 << 20);
  const SteppedServer::Call fast = Begin(2);
  EXPECT_FALSE(fast->answered) << "the other one might be fast as well";
  server_.RunFor(std::chrono::milliseconds(99));
  EXPECT_FALSE(fast->answered);
  server_.RunFor(std::chrono::milliseconds(2));
  ASSERT_TRUE(fast->answered);
  ASSERT_OK(fast->reply.status);
  EXPECT_TRUE(AllAre(-1));
  EXPECT_FALSE(slow->answered);
  slow->Arrived(2 << 20);
  server_.Run();
  ASSERT_TRUE(slow->answered);
  EXPECT_THAT(slow->reply.status,
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("variable 'w', shard 0 took another update")));
  // It is sent again, as slowly, and holds up nobody.
  const SteppedServer::Call again = Begin(1, 1 << 20);
  const SteppedServer::Call other = Begin(3);
  ASSERT_TRUE(other->answered);
  ASSERT_OK(other->reply.status);
  EXPECT_TRUE(AllAre(-2));
  again->Arrived(SIZE_MAX);
  server_.Run();
  ASSERT_TRUE(again->answered);
  ASSERT_OK(again->reply.status);
  EXPECT_TRUE(AllAre(-3));
}

TEST_F(SlowSenderTest, ItIsWaitedForAsLongAsTheOtherOneTook) {
  const SteppedServer::Call one = Begin(1, 1 << 20);
  const SteppedServer::Call other = Begin(2, 1 << 20);
  server_.RunFor(std::chrono::seconds(1));
  other->Arrived(SIZE_MAX);
  server_.RunFor(std::chrono::milliseconds(999));
  EXPECT_FALSE(other->answered);
  one->Arrived(SIZE_MAX);
  server_.Run();
  for (const SteppedServer::Call& call : {one, other}) {
    ASSERT_TRUE(call->answered);
    EXPECT_OK(call->reply.status);
  }
  EXPECT_TRUE(AllAre(-2));
}

// The same update, from a sender that was thought to be dead.
TEST_F(SlowSenderTest, WhatCameInAnotherWayIsNotAppliedAgain) {
  const SteppedServer::Call slow = Begin(1, 1 << 20);
  const SteppedServer::Call fast = Begin(1);
  server_.RunFor(std::chrono::milliseconds(100));
  ASSERT_TRUE(fast->answered);
  ASSERT_OK(fast->reply.status);
  slow->Arrived(SIZE_MAX);
  server_.Run();
  EXPECT_THAT(slow->reply.status, StatusIs(absl::StatusCode::kUnavailable));
  const SteppedServer::Call again = Begin(1);
  ASSERT_OK(again->reply.status);
  EXPECT_EQ(DecodeShardsReply(again->reply.body).value().outcomes,
            std::vector<Outcome>{Outcome::kAlreadyApplied});
  EXPECT_TRUE(AllAre(-1));
}

// Of a shard that never had any.
TEST_F(InterleavingTest, AnUpdateThatIsOverGetsNoValuesWhereThereAreNone) {
  VariableSpec unset = Spec("u", 4);
  unset.initializer = Unset{};
  map_ = MapOf({unset});
  ASSERT_OK(server_.Install(map_, 1)->reply.status);
  ASSERT_OK(server_.Send("chief", Method::kWatermark, WatermarkOf(1, 5))
                ->reply.status);
  ShardsRequest request = PushOf("u", 5);
  request.want_values = true;
  const SteppedServer::Call push =
      server_.Send("worker", Method::kPush, EncodeShardsRequest(request),
                   {BytesOf({1, 2, 3, 4})});
  ASSERT_TRUE(push->answered);
  EXPECT_THAT(push->reply.status,
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("has no values yet")));
}

}  // namespace
}  // namespace capstan

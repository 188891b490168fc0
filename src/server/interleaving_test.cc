// What happens on another thread between two turns of a request.
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

// f32, zeroes, and Sgd with the rate 1: a gradient is subtracted as it is.
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

  ShardKey KeyOf(const std::string& name) const {
    return {.variable = map_.Find(name)->id};
  }

  ShardMap map_ = MapOf({Spec("w", 4), Spec("x", 4)});
  SteppedServer server_;
};

// The update is applied, and the shard dropped, before the values are asked
// for.
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

// Of a shard that has never had any.
TEST_F(InterleavingTest, AnUpdateThatIsOverGetsNoValuesWhereThereAreNone) {
  VariableSpec unset = Spec("u", 4);
  unset.initializer = Unset{};
  map_ = MapOf({unset});
  ASSERT_OK(server_.Install(map_, 1)->reply.status);
  WatermarkRequest watermark;
  watermark.fence = {.generation = 1, .term = 1};
  watermark.watermark = 5;
  ASSERT_OK(
      server_
          .Send("chief", Method::kWatermark, EncodeWatermarkRequest(watermark))
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

// What the fields of a request may change, by the role of the caller. Whether
// the caller may call the method at all is checked before
// (wire/permissions_test.cc).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "testing/status_matchers.h"
#include "testing/stepped_server.h"
#include "wire/fence_limits.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;
using testing::SteppedServer;

struct FencedRequest {
  const char* name;
  Method method;
  std::string (*body)(const Fence& fence);
  std::vector<std::string> attachments = {};
};

template <typename Request, std::string (*Encode)(const Request&)>
std::string BodyOf(const Fence& fence) {
  Request request;
  request.fence = fence;
  if constexpr (requires { request.save_id; }) request.save_id = 1;
  if constexpr (requires { request.restore_id; }) request.restore_id = 1;
  return Encode(request);
}

std::string UpdateBody(const Fence& fence) {
  ShardsRequest request;
  request.id.fence = fence;
  request.id.step = 1;
  request.map_version = 1;
  request.parts.push_back({.key = {.variable = 1}});
  return EncodeShardsRequest(request);
}

std::string RoundBody(const Fence& fence) {
  RoundRequest request;
  request.fence = fence;
  request.round = 1;
  return EncodeRoundRequest(request);
}

const std::string kTwoFloats(8, '\0');
const std::string kTwoRows("\0\0\0\0\1\0\0\0", 8);

// Every request with a fence, except Install.
const FencedRequest kFenced[] = {
    {"Push", Method::kPush, UpdateBody, {kTwoFloats}},
    {"Scatter", Method::kScatter, UpdateBody, {kTwoRows, kTwoFloats}},
    {"Tick", Method::kTick, RoundBody},
    {"Commit", Method::kCommit, RoundBody},
    {"Watermark", Method::kWatermark,
     BodyOf<WatermarkRequest, EncodeWatermarkRequest>},
    {"Snapshot", Method::kSnapshot,
     BodyOf<SnapshotRequest, EncodeSnapshotRequest>},
    {"SnapshotRead", Method::kSnapshotRead,
     BodyOf<SnapshotReadRequest, EncodeSnapshotReadRequest>},
    {"SnapshotWrite", Method::kSnapshotWrite,
     BodyOf<SnapshotWriteRequest, EncodeSnapshotWriteRequest>},
    {"SnapshotDrop", Method::kSnapshotDrop,
     BodyOf<SnapshotRequest, EncodeSnapshotRequest>},
    {"StageRows", Method::kStageRows,
     BodyOf<StageRowsRequest, EncodeStageRowsRequest>},
    {"StageFile", Method::kStageFile,
     BodyOf<StageFileRequest, EncodeStageFileRequest>},
    {"StageCommit", Method::kStageCommit,
     BodyOf<StageCommitRequest, EncodeStageCommitRequest>},
    {"StageDrop", Method::kStageDrop,
     BodyOf<StageDropRequest, EncodeStageDropRequest>},
};

class CallerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    VariableSpec spec;
    spec.name = "w";
    spec.shape = {2};
    spec.optimizer = Sgd{.learning_rate = 1.0};
    const ShardMap empty = ShardMap::Make(1, 0, 1, {}).value();
    map_ = AddVariables(empty, {spec}, FixedShards(1)).value();
    ASSERT_OK(server_.Install(map_, /*term=*/3)->reply.status);
  }

  absl::Status Send(const std::string& role, const FencedRequest& request,
                    uint64_t term) {
    const Fence fence = {.generation = 1, .term = term};
    const SteppedServer::Call call = server_.Send(
        role, request.method, request.body(fence), request.attachments);
    EXPECT_TRUE(call->answered) << request.name;
    return call->reply.status;
  }

  ShardMap map_;
  SteppedServer server_;
};

TEST_F(CallerTest, OnlyTheChiefRaisesTheTerm) {
  for (const FencedRequest& request : kFenced) {
    for (const char* role : {"worker", "ps", "evaluator", "admin", ""}) {
      for (const uint64_t term : {uint64_t{4}, kTermLimit - 1}) {
        EXPECT_THAT(Send(role, request, term),
                    StatusIs(absl::StatusCode::kUnavailable,
                             HasSubstr("has not heard from one of term")))
            << request.name << " of " << role;
      }
      EXPECT_THAT(
          Send(role, request, 2),
          StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("fenced")))
          << request.name << " of " << role;
    }
    EXPECT_EQ(server_.Status().fence.term, 3u) << request.name;
  }
  uint64_t term = 3;
  for (const FencedRequest& request : kFenced) {
    const absl::Status status = Send("chief", request, ++term);
    EXPECT_FALSE(absl::IsUnavailable(status)) << status;
    EXPECT_EQ(server_.Status().fence.term, term) << request.name;
  }
}

// A caller with such a term would be in charge forever.
TEST_F(CallerTest, NobodyHasATermAboveTheLimit) {
  for (const FencedRequest& request : kFenced) {
    for (const char* role : {"worker", "chief"}) {
      for (const uint64_t term : {kTermLimit, UINT64_MAX}) {
        EXPECT_THAT(Send(role, request, term),
                    StatusIs(absl::StatusCode::kInvalidArgument,
                             HasSubstr("terms are below 2147483648")))
            << request.name << " of " << role;
      }
    }
    EXPECT_EQ(server_.Status().fence.term, 3u) << request.name;
  }
  EXPECT_THAT(server_.Install(map_, kTermLimit)->reply.status,
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(server_.Status().fence.term, 3u);
}

TEST_F(CallerTest, InstallObeysTheSame) {
  InstallRequest install;
  install.term = 4;
  install.map = EncodeShardMap(map_);
  EXPECT_THAT(
      server_.Send("worker", Method::kInstall, EncodeInstallRequest(install))
          ->reply.status,
      StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(server_.Status().fence.term, 3u);
  ASSERT_OK(server_.Install(map_, 4)->reply.status);
  EXPECT_EQ(server_.Status().fence.term, 4u);
}

// A coordinator that takes over must allocate memory for all steps up to the
// last.
TEST_F(CallerTest, AStepThatNoCoordinatorGaveIsRefused) {
  WatermarkRequest watermark;
  watermark.fence = {.generation = 1, .term = 3};
  watermark.watermark = 10;
  ASSERT_OK(
      server_
          .Send("chief", Method::kWatermark, EncodeWatermarkRequest(watermark))
          ->reply.status);
  ShardsRequest request =
      DecodeShardsRequest(UpdateBody(watermark.fence)).value();
  for (const uint64_t step : {10 + kMostOpenSteps + 1, UINT64_MAX}) {
    request.id.step = step;
    EXPECT_THAT(server_
                    .Send("worker", Method::kPush, EncodeShardsRequest(request),
                          {kTwoFloats})
                    ->reply.status,
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("may be open at once")));
    EXPECT_EQ(server_.Status().last_step, 0u);
  }
  request.id.step = 10 + kMostOpenSteps;
  EXPECT_OK(server_
                .Send("worker", Method::kPush, EncodeShardsRequest(request),
                      {kTwoFloats})
                ->reply.status);
}

}  // namespace
}  // namespace capstan

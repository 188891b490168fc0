#include "wire/snapshot.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>

#include "base/random.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using absl::StatusCode::kInvalidArgument;
using ::testing::HasSubstr;
using testing::StatusIs;

constexpr Fence kFence = {.generation = 3, .term = 4};

SharedDirectory Shared() {
  return {.path = {"run", ".tmp-ckpt-3"},
          .probe = "probe-1",
          .probe_content = std::string("\0\xff", 2)};
}

SnapshotReply TwoShards() {
  SnapshotReply reply;
  reply.copied = true;
  reply.watermark = uint64_t{1} << 40;
  reply.committed_round = 6;
  reply.shards = {{.key = {.variable = 1, .shard = 2},
                   .version = 3,
                   .updates = 4,
                   .momentum_product = 0.25,
                   .applied = 5},
                  {.key = {.variable = 2, .shard = 0}, .version = 1}};
  return reply;
}

StageFileRequest OneFile() {
  StageFileRequest request;
  request.fence = kFence;
  request.restore_id = 5;
  request.map_version = 6;
  request.directory = Shared();
  request.save_id = 7;
  request.file = "server-0.safetensors";
  request.bytes = 8;
  request.crc32c = UINT32_MAX;
  request.tensors = {{.name = "w[0:4]", .crc32c = 9}, {.name = "\xff"}};
  request.copies = {{.tensor = "w[0:4]",
                     .key = {.variable = 1, .shard = 2},
                     .slot = 3,
                     .source_row = 4,
                     .rows = 5,
                     .target_row = 6},
                    {}};
  return request;
}

StageCommitRequest TwoStaged() {
  StageCommitRequest request;
  request.fence = kFence;
  request.restore_id = 5;
  request.map_version = 6;
  request.shards = {{.key = {.variable = 1, .shard = 2},
                     .updates = 3,
                     .momentum_product = 0.5,
                     .slots = true},
                    {.key = {.variable = 1, .shard = 3}}};
  return request;
}

TEST(SnapshotTest, SavingComesBackAsItWas) {
  const SnapshotRequest request = {.fence = kFence, .save_id = UINT64_MAX};
  EXPECT_EQ(*DecodeSnapshotRequest(EncodeSnapshotRequest(request)), request);
  const SnapshotReply reply = TwoShards();
  EXPECT_EQ(*DecodeSnapshotReply(EncodeSnapshotReply(reply)), reply);
  const SnapshotReadRequest read = {.fence = kFence,
                                    .save_id = 5,
                                    .key = {.variable = 6, .shard = 7},
                                    .slot = 1,
                                    .begin = 8,
                                    .end = 9};
  EXPECT_EQ(*DecodeSnapshotReadRequest(EncodeSnapshotReadRequest(read)), read);
  const SnapshotWriteRequest write = {.fence = kFence,
                                      .save_id = 5,
                                      .directory = Shared(),
                                      .file = "server-0.safetensors"};
  EXPECT_EQ(*DecodeSnapshotWriteRequest(EncodeSnapshotWriteRequest(write)),
            write);
  const SnapshotWriteReply written = {
      .bytes = uint64_t{1} << 40,
      .crc32c = UINT32_MAX,
      .tensors = {{.name = "w[0:4]", .crc32c = 1}, {.name = "w[0:4].m"}}};
  EXPECT_EQ(*DecodeSnapshotWriteReply(EncodeSnapshotWriteReply(written)),
            written);
}

TEST(SnapshotTest, RestoringComesBackAsItWas) {
  const StageRowsRequest rows = {.fence = kFence,
                                 .restore_id = 5,
                                 .key = {.variable = 6, .shard = 7},
                                 .map_version = 8,
                                 .slot = 1,
                                 .begin = 9,
                                 .end = 10};
  EXPECT_EQ(*DecodeStageRowsRequest(EncodeStageRowsRequest(rows)), rows);
  const StageFileRequest file = OneFile();
  EXPECT_EQ(*DecodeStageFileRequest(EncodeStageFileRequest(file)), file);
  const StageCommitRequest commit = TwoStaged();
  EXPECT_EQ(*DecodeStageCommitRequest(EncodeStageCommitRequest(commit)),
            commit);
  const StageDropRequest drop = {.fence = kFence, .restore_id = 5};
  EXPECT_EQ(*DecodeStageDropRequest(EncodeStageDropRequest(drop)), drop);
  const StageDropRequest any = {.fence = kFence};
  EXPECT_EQ(*DecodeStageDropRequest(EncodeStageDropRequest(any)), any);
}

TEST(SnapshotTest, AnIdOfZeroIsNone) {
  const auto no_save = StatusIs(kInvalidArgument, HasSubstr("save id of 0"));
  EXPECT_THAT(DecodeSnapshotRequest(""), no_save);
  EXPECT_THAT(DecodeSnapshotReadRequest(""), no_save);
  EXPECT_THAT(DecodeSnapshotWriteRequest(""), no_save);
  const auto no_restore =
      StatusIs(kInvalidArgument, HasSubstr("restore id of 0"));
  EXPECT_THAT(DecodeStageRowsRequest(""), no_restore);
  EXPECT_THAT(DecodeStageFileRequest(""), no_restore);
  EXPECT_THAT(DecodeStageCommitRequest(""), no_restore);
}

TEST(SnapshotTest, ShardsMustAscend) {
  SnapshotReply reply = TwoShards();
  std::swap(reply.shards[0], reply.shards[1]);
  EXPECT_THAT(DecodeSnapshotReply(EncodeSnapshotReply(reply)),
              StatusIs(kInvalidArgument, HasSubstr("do not ascend")));
  StageCommitRequest commit = TwoStaged();
  commit.shards[1].key = commit.shards[0].key;
  EXPECT_THAT(DecodeStageCommitRequest(EncodeStageCommitRequest(commit)),
              StatusIs(kInvalidArgument, HasSubstr("do not ascend")));
}

TEST(SnapshotTest, AMomentumProductIsFinite) {
  SnapshotReply reply = TwoShards();
  reply.shards[0].momentum_product = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(DecodeSnapshotReply(EncodeSnapshotReply(reply)),
              StatusIs(kInvalidArgument, HasSubstr("product of nan")));
  StageCommitRequest commit = TwoStaged();
  commit.shards[1].momentum_product = std::numeric_limits<double>::infinity();
  EXPECT_THAT(
      DecodeStageCommitRequest(EncodeStageCommitRequest(commit)),
      StatusIs(kInvalidArgument, HasSubstr("shard 3 of variable 1 with a")));
}

// Any bytes from a peer are decoded or refused.
TEST(SnapshotTest, AnyBytesAreDecodedOrRefused) {
  Random random(1);
  for (const std::string& valid :
       {EncodeStageFileRequest(OneFile()), EncodeSnapshotReply(TwoShards()),
        EncodeStageCommitRequest(TwoStaged())}) {
    for (int i = 0; i < 10'000; ++i) {
      std::string body = valid.substr(0, random.Below(valid.size() + 1));
      for (uint64_t flips = random.Below(4); flips > 0 && !body.empty();
           --flips) {
        body[random.Below(body.size())] = static_cast<char>(random.NextU64());
      }
      (void)DecodeSnapshotRequest(body);
      (void)DecodeSnapshotReply(body);
      (void)DecodeSnapshotReadRequest(body);
      (void)DecodeSnapshotWriteRequest(body);
      (void)DecodeSnapshotWriteReply(body);
      (void)DecodeStageRowsRequest(body);
      (void)DecodeStageFileRequest(body);
      (void)DecodeStageCommitRequest(body);
      (void)DecodeStageDropRequest(body);
    }
  }
}

}  // namespace
}  // namespace capstan

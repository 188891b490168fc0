#include "wire/parameter.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "base/random.h"
#include "testing/status_matchers.h"
#include "wire/parameter.pb.h"

namespace capstan {
namespace {

using absl::StatusCode::kInvalidArgument;
using ::testing::HasSubstr;
using testing::StatusIs;

ShardsRequest ManyParts() {
  ShardsRequest request;
  request.id = {.fence = {.generation = 3, .term = 4},
                .step = uint64_t{1} << 40,
                .push = 2,
                .round = 7,
                .replica = 5};
  request.map_version = 9;
  request.operation = Operation::kMax;
  request.want_values = true;
  request.parts = {
      {.key = {.variable = 1, .shard = 0}, .version = 8},
      {.key = {.variable = 1, .shard = 3}, .dtype = DType::kBF16},
      {.key = {.variable = 4, .shard = 2}, .version = 1, .scale = 0.25F}};
  return request;
}

TEST(ParameterTest, RequestsComeBackAsTheyWere) {
  const ShardsRequest many = ManyParts();
  EXPECT_EQ(*DecodeShardsRequest(EncodeShardsRequest(many)), many);
  const ShardsRequest none;
  EXPECT_EQ(*DecodeShardsRequest(EncodeShardsRequest(none)), none);
  const ReadRequest read = {.generation = 1,
                            .map_version = 2,
                            .key = {.variable = 3, .shard = 4},
                            .begin = 5,
                            .end = 6,
                            .slot = 2};
  EXPECT_EQ(*DecodeReadRequest(EncodeReadRequest(read)), read);
  const RoundRequest round = {
      .fence = {.generation = 1, .term = 2}, .round = 3, .replicas = {0, 4}};
  EXPECT_EQ(*DecodeRoundRequest(EncodeRoundRequest(round)), round);
  const WatermarkRequest watermark = {.fence = {.generation = 1, .term = 2},
                                      .watermark = 99,
                                      .record = std::string("\0\xff", 2)};
  EXPECT_EQ(*DecodeWatermarkRequest(EncodeWatermarkRequest(watermark)),
            watermark);
  const InstallRequest install = {.term = 2,
                                  .watermark = 5,
                                  .map = std::string("\0\xff", 2),
                                  .record = std::string("\xff\0", 2),
                                  .follows = true};
  EXPECT_EQ(*DecodeInstallRequest(EncodeInstallRequest(install)), install);
}

TEST(ParameterTest, AnswersComeBackAsTheyWere) {
  const ShardsReply reply = {
      .versions = {1, uint64_t{1} << 50},
      .outcomes = {Outcome::kApplied, Outcome::kDropped}};
  EXPECT_EQ(*DecodeShardsReply(EncodeShardsReply(reply)), reply);
  StoreReport report;
  report.fence = {.generation = 1, .term = 2};
  report.map_version = 3;
  report.watermark = 4;
  report.committed_round = 5;
  report.bytes_used = 6;
  report.bytes_limit = 7;
  report.fenced = 8;
  report.last_step = 9;
  report.left_out = {1, 3};
  report.record = std::string("\0\xff", 2);
  VariableReport variable;
  variable.name = "w\xff";
  variable.shard = 1;
  variable.bytes = 2;
  variable.version = 3;
  variable.applied = 4;
  variable.duplicates = 5;
  variable.dropped = 6;
  variable.skipped = 7;
  variable.refused = 8;
  variable.staleness[15] = 9;
  report.variables = {variable, VariableReport()};
  EXPECT_EQ(*DecodeStoreReport(EncodeStoreReport(report)), report);
}

TEST(ParameterTest, ShardsMustAscend) {
  ShardsRequest twice = ManyParts();
  twice.parts[1].key = twice.parts[0].key;
  EXPECT_THAT(DecodeShardsRequest(EncodeShardsRequest(twice)),
              StatusIs(kInvalidArgument, HasSubstr("do not ascend")));
  ShardsRequest swapped = ManyParts();
  std::swap(swapped.parts[0], swapped.parts[2]);
  EXPECT_THAT(DecodeShardsRequest(EncodeShardsRequest(swapped)),
              StatusIs(kInvalidArgument, HasSubstr("do not ascend")));
}

TEST(ParameterTest, BadFieldsAreNamed) {
  wire::ShardsRequestMessage message;
  message.add_variables(1);
  EXPECT_THAT(DecodeShardsRequest(message.SerializeAsString()),
              StatusIs(kInvalidArgument, HasSubstr("with 0 shards")));
  message.add_shards(0);
  message.add_versions(1);
  message.add_versions(1);
  EXPECT_THAT(DecodeShardsRequest(message.SerializeAsString()),
              StatusIs(kInvalidArgument, HasSubstr("2 versions")));
  message.clear_versions();
  message.set_dtypes("\x63");
  EXPECT_THAT(DecodeShardsRequest(message.SerializeAsString()),
              StatusIs(kInvalidArgument));
  message.clear_dtypes();
  message.add_scales(std::numeric_limits<float>::quiet_NaN());
  EXPECT_THAT(DecodeShardsRequest(message.SerializeAsString()),
              StatusIs(kInvalidArgument, HasSubstr("scaled by nan")));
  message.clear_scales();
  message.set_operation(8);
  EXPECT_THAT(DecodeShardsRequest(message.SerializeAsString()),
              StatusIs(kInvalidArgument, HasSubstr("unknown operation 8")));
  EXPECT_THAT(DecodeShardsReply("\x12\x01\x05"),
              StatusIs(kInvalidArgument, HasSubstr("unknown outcome 5")));
  EXPECT_THAT(DecodeRoundRequest(""),
              StatusIs(kInvalidArgument, HasSubstr("round 0")));
}

TEST(ParameterTest, RecordsAreBounded) {
  WatermarkRequest watermark;
  InstallRequest install;
  watermark.record.resize(kMaxRecordBytes);
  install.record.resize(kMaxRecordBytes);
  EXPECT_OK(DecodeWatermarkRequest(EncodeWatermarkRequest(watermark)));
  EXPECT_OK(DecodeInstallRequest(EncodeInstallRequest(install)));
  watermark.record.push_back('x');
  install.record.push_back('x');
  const auto refused =
      StatusIs(kInvalidArgument, HasSubstr("a record of 1048577 bytes"));
  EXPECT_THAT(DecodeWatermarkRequest(EncodeWatermarkRequest(watermark)),
              refused);
  EXPECT_THAT(DecodeInstallRequest(EncodeInstallRequest(install)), refused);
}

// Any bytes from a peer are decoded or refused.
TEST(ParameterTest, AnyBytesAreDecodedOrRefused) {
  const std::string valid = EncodeShardsRequest(ManyParts());
  Random random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string body = valid.substr(0, random.Below(valid.size() + 1));
    for (uint64_t flips = random.Below(4); flips > 0 && !body.empty();
         --flips) {
      body[random.Below(body.size())] = static_cast<char>(random.NextU64());
    }
    (void)DecodeShardsRequest(body);
    (void)DecodeShardsReply(body);
    (void)DecodeReadRequest(body);
    (void)DecodeRoundRequest(body);
    (void)DecodeWatermarkRequest(body);
    (void)DecodeInstallRequest(body);
    (void)DecodeStoreReport(body);
  }
}

}  // namespace
}  // namespace capstan

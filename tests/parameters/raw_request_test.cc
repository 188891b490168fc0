// Requests that no client would send: a server answers an error, changes
// nothing and goes on.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "parameters/helpers.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using testing::BytesOf;
using testing::HandRequest;
using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::ParameterJob;
using testing::Plain;
using testing::Spec;
using testing::StatusIs;

class RawRequestTest : public ::testing::Test {
 protected:
  void SetUp() override {
    VariableSpec sync = Spec("x_sync", {4});
    sync.update = Sync{.replicas = 1};
    ASSERT_OK(job_.Create({Spec("w", {4, 2}), Plain("flags", {3}, DType::kBool),
                           Plain("i", {3}, DType::kI64), sync},
                          FixedShards(2)));
  }
  void TearDown() override {
    EXPECT_THAT(job_.Read("w"), IsOkAndHolds(std::vector<float>(8)));
    EXPECT_EQ(job_.Report("w", 0).version, 1u);
    EXPECT_EQ(job_.Report("w", 1).version, 1u);
  }

  absl::Status Call(Method method, const ShardsRequest& request,
                    std::vector<Bytes> attachments = {}) {
    CallOptions options;
    options.reply_limit = 1 << 20;
    return job_
        .Call(0, method, EncodeShardsRequest(request), std::move(attachments),
              options)
        .status();
  }

  ParameterJob job_;
  const std::vector<float> four_ = std::vector<float>(4, 1);
  const std::vector<uint32_t> rows_ = {0, 1};
};

TEST_F(RawRequestTest, BodiesThatAreNone) {
  const std::string bad("\xff\xff\xff\xff");
  for (const Method method :
       {Method::kInstall, Method::kPull, Method::kPush, Method::kGather,
        Method::kScatter, Method::kRead, Method::kCommit, Method::kTick,
        Method::kWatermark, Method::kSnapshot, Method::kSnapshotRead,
        Method::kSnapshotWrite, Method::kSnapshotDrop, Method::kStageRows,
        Method::kStageFile, Method::kStageCommit, Method::kStageDrop}) {
    EXPECT_THAT(job_.Call(0, method, bad),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << static_cast<int>(method);
  }
  InstallRequest install;
  install.term = 1;
  install.map = bad;
  EXPECT_THAT(job_.Call(0, Method::kInstall, EncodeInstallRequest(install)),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(RawRequestTest, TheWrongNumberOfAttachments) {
  const ShardsRequest request = HandRequest(job_, "w");
  for (const std::vector<Bytes>& attachments :
       {std::vector<Bytes>{},
        std::vector<Bytes>{BytesOf(four_), BytesOf(four_)}}) {
    EXPECT_THAT(
        Call(Method::kPush, request, attachments),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("attachments")));
  }
  for (const std::vector<Bytes>& attachments :
       {std::vector<Bytes>{}, std::vector<Bytes>{BytesOf(rows_)},
        std::vector<Bytes>{BytesOf(rows_), BytesOf(four_), BytesOf(four_)}}) {
    EXPECT_THAT(
        Call(Method::kScatter, request, attachments),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("attachments")));
  }
  EXPECT_THAT(
      Call(Method::kGather, request),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("0 lists")));
}

TEST_F(RawRequestTest, TheWrongSizes) {
  const ShardsRequest request = HandRequest(job_, "w");
  const std::vector<float> five(5, 1);
  const std::vector<uint8_t> odd(6);
  EXPECT_THAT(Call(Method::kPush, request, {BytesOf(five)}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("variable 'w', shard 0: 2 rows of 2 f32 are "
                                 "16 bytes, and 20 came")));
  EXPECT_THAT(Call(Method::kScatter, request, {BytesOf(rows_), BytesOf(five)}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("16 bytes, and 20 came")));
  EXPECT_THAT(Call(Method::kScatter, request, {BytesOf(odd), BytesOf(four_)}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("no multiple of 4")));
  EXPECT_THAT(Call(Method::kGather, request, {BytesOf(odd)}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("no multiple of 4")));
}

TEST_F(RawRequestTest, PartsThatDoNotAscend) {
  ShardsRequest request = HandRequest(job_, "w");
  request.parts.push_back(request.parts[0]);
  EXPECT_THAT(
      Call(Method::kPush, request, {BytesOf(four_), BytesOf(four_)}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("do not ascend")));
  request.parts[0].key.shard = 1;
  EXPECT_THAT(
      Call(Method::kPull, request),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("do not ascend")));
}

TEST_F(RawRequestTest, AnUnknownOperation) {
  ShardsRequest request = HandRequest(job_, "w");
  request.operation = static_cast<Operation>(8);
  EXPECT_THAT(Call(Method::kPush, request, {BytesOf(four_)}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("unknown operation 8")));
}

TEST_F(RawRequestTest, AScaleThatIsNotFinite) {
  ShardsRequest request = HandRequest(job_, "w");
  request.parts[0].scale = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(
      Call(Method::kPush, request, {BytesOf(four_)}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("scaled by nan")));
}

TEST_F(RawRequestTest, ValuesThatAreNotFinite) {
  ShardsRequest request = HandRequest(job_, "w", 1);
  std::vector<float> bad = four_;
  bad[3] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(
      Call(Method::kPush, request, {BytesOf(bad)}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("variable 'w', shard 1: the gradient has a NaN "
                         "or infinity in row 3, element 1")));
  const std::vector<uint32_t> rows = {1, 0};
  EXPECT_THAT(Call(Method::kScatter, request, {BytesOf(rows), BytesOf(bad)}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("in row 2, element 1")));
  EXPECT_EQ(job_.Report("w", 1).refused, 2u);
}

TEST_F(RawRequestTest, RowsBeyondTheShard) {
  const ShardsRequest request = HandRequest(job_, "w", 1);
  for (const uint32_t row : {2u, UINT32_MAX}) {
    const std::vector<uint32_t> rows = {1, row};
    const auto refused =
        StatusIs(absl::StatusCode::kOutOfRange,
                 AllOf(HasSubstr("variable 'w', shard 1: id"),
                       HasSubstr("at position 1 is not in [2, 4)")));
    EXPECT_THAT(
        Call(Method::kScatter, request, {BytesOf(rows), BytesOf(four_)}),
        refused);
    EXPECT_THAT(Call(Method::kGather, request, {BytesOf(rows)}), refused);
  }
}

TEST_F(RawRequestTest, AVariableOrShardThatIsNotThere) {
  ShardsRequest request = HandRequest(job_, "w");
  request.parts[0].key.shard = 2;
  EXPECT_THAT(Call(Method::kPush, request, {BytesOf(four_)}),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("shard 2")));
  request.parts[0].key = {.variable = 1000, .shard = 0};
  EXPECT_THAT(Call(Method::kPull, request),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("1000")));
}

TEST_F(RawRequestTest, TypesThatDoNotFit) {
  ShardsRequest request = HandRequest(job_, "w");
  const std::vector<double> wide(4, 1);
  request.parts[0].dtype = DType::kF64;
  EXPECT_THAT(Call(Method::kPush, request, {BytesOf(wide)}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a gradient of f64")));
  request.operation = Operation::kSet;
  EXPECT_THAT(Call(Method::kPush, request, {BytesOf(wide)}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("is f32, not f64")));
  ShardsRequest flags = HandRequest(job_, "flags");
  flags.operation = Operation::kSet;
  flags.parts[0].dtype = DType::kBool;
  const std::vector<uint8_t> bad = {1, 2};
  EXPECT_THAT(Call(Method::kPush, flags, {BytesOf(bad)}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("variable 'flags', shard 0"),
                             HasSubstr("element 1"))));
  ShardsRequest integers = HandRequest(job_, "i");
  integers.operation = Operation::kDiv;
  integers.parts[0].dtype = DType::kI64;
  const std::vector<int64_t> divisors = {1, 0};
  EXPECT_THAT(Call(Method::kPush, integers, {BytesOf(divisors)}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("variable 'i', shard 0"),
                             HasSubstr("element 1"))));
  integers.operation = Operation::kGradient;
  EXPECT_THAT(Call(Method::kPush, integers, {BytesOf(divisors)}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("has no optimizer")));
}

// One bad part of many: the others, which come before it, are not applied.
TEST_F(RawRequestTest, OneBadPartRefusesAll) {
  ShardsRequest request = HandRequest(job_, "w", 0);
  request.parts.push_back(request.parts[0]);
  request.parts[1].key.shard = 1;
  std::vector<float> bad = four_;
  bad[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(Call(Method::kPush, request, {BytesOf(four_), BytesOf(bad)}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(
      Call(Method::kScatter, request,
           {BytesOf(rows_), BytesOf(four_), BytesOf(rows_), BytesOf(bad)}),
      StatusIs(absl::StatusCode::kInvalidArgument));
  const std::vector<uint32_t> beyond = {1, 2};
  EXPECT_THAT(
      Call(Method::kScatter, request,
           {BytesOf(rows_), BytesOf(four_), BytesOf(beyond), BytesOf(four_)}),
      StatusIs(absl::StatusCode::kOutOfRange));
}

TEST_F(RawRequestTest, WithoutARoundASynchronousPartRefusesAll) {
  ShardsRequest request = HandRequest(job_, "w", 0);
  request.parts.push_back({.key = {.variable = job_.Id("x_sync"), .shard = 0}});
  const std::vector<float> two(2, 1);
  ASSERT_LT(job_.Id("w"), job_.Id("x_sync"));
  EXPECT_THAT(Call(Method::kPush, request, {BytesOf(four_), BytesOf(two)}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("belongs to none")));
  request.id.round = 1;
  request.id.replica = 1;
  EXPECT_THAT(
      Call(Method::kPush, request, {BytesOf(four_), BytesOf(two)}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("replica 1")));
}

TEST_F(RawRequestTest, ReadsBeyondTheShard) {
  ReadRequest request;
  request.generation = 1;
  request.map_version = job_.map().version();
  request.key = {.variable = job_.Id("w"), .shard = 1};
  const auto call = [&] {
    return job_.Call(0, Method::kRead, EncodeReadRequest(request));
  };
  request.begin = 1;
  request.end = 3;
  EXPECT_THAT(call(), StatusIs(absl::StatusCode::kOutOfRange,
                               HasSubstr("'w', shard 1 has 2 rows; [1, 3)")));
  request.begin = 2;
  request.end = 1;
  EXPECT_THAT(call(), StatusIs(absl::StatusCode::kOutOfRange));
  request.begin = UINT64_MAX;
  request.end = UINT64_MAX;
  EXPECT_THAT(call(), StatusIs(absl::StatusCode::kOutOfRange));
  request.begin = 0;
  request.end = 1;
  request.slot = 1;
  EXPECT_THAT(call(), StatusIs(absl::StatusCode::kOutOfRange,
                               HasSubstr("0 slots; number 1")));
}

TEST_F(RawRequestTest, AnAnswerThatTheCallerDoesNotWant) {
  const ShardsRequest request = HandRequest(job_, "w");
  const std::vector<uint32_t> rows(100, 1);
  CallOptions options;
  options.reply_limit = 100;
  EXPECT_THAT(job_.Call(0, Method::kGather, EncodeShardsRequest(request),
                        {BytesOf(rows)}, options),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST_F(RawRequestTest, DuplicateRowsOfAGradientAreAddedUp) {
  ShardsRequest request = HandRequest(job_, "w");
  const std::vector<uint32_t> rows = {1, 1};
  const std::vector<float> values = {1, 2, -1, -2};
  EXPECT_OK(Call(Method::kScatter, request, {BytesOf(rows), BytesOf(values)}));
  EXPECT_THAT(job_.Read("w"), IsOkAndHolds(std::vector<float>(8)));
  EXPECT_EQ(job_.Report("w", 0).version, 2u);
  // For TearDown.
  ASSERT_OK(job_.NextGeneration());
}

TEST_F(RawRequestTest, NothingAtAll) {
  ShardsRequest request = HandRequest(job_, "w");
  request.parts.clear();
  for (const Method method :
       {Method::kPull, Method::kPush, Method::kGather, Method::kScatter}) {
    EXPECT_OK(Call(method, request));
  }
}

}  // namespace
}  // namespace capstan

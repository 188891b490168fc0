// Each step changes each shard once, whatever is sent again, late, or by those
// who should not.
#include <gtest/gtest.h>

#include <vector>

#include "parameters/helpers.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using testing::BytesOf;
using testing::Dense;
using testing::HandRequest;
using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::ParameterJob;
using testing::Push;
using testing::Rows;
using testing::Scatter;
using testing::Spec;
using testing::StatusIs;

class ExactlyOnceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(job_.Create({Spec("a", {4}), Spec("b", {3})}, FixedShards(2)));
    worker_ = &job_.NewClient();
    ASSERT_OK(job_.Run(*worker_, worker_->Refresh()));
  }

  absl::StatusOr<UpdateResult> PushA(const UpdateId& id, float value = 1) {
    return Push(job_, *worker_, id, "a", std::vector<float>(4, value));
  }
  void ExpectA(float value) {
    EXPECT_THAT(job_.Read("a"), IsOkAndHolds(std::vector<float>(4, value)));
  }
  absl::Status SetWatermark(uint64_t watermark, Fence fence) {
    WatermarkRequest request;
    request.fence = fence;
    request.watermark = watermark;
    return job_.Run(job_.chief(), job_.chief().SetWatermark(request));
  }

  ParameterJob job_{{.servers = 2}};
  ParameterClient* worker_ = nullptr;
};

TEST_F(ExactlyOnceTest, AnotherSenderOfTheSameStepChangesNothing) {
  const UpdateId id = job_.NextStep();
  ASSERT_OK(PushA(id));
  ParameterClient& other = job_.NewClient();
  ASSERT_OK(job_.Run(other, other.Refresh()));
  // Even with other values: the first to come is the step.
  const absl::StatusOr<UpdateResult> summary =
      Push(job_, other, id, "a", std::vector<float>(4, 9));
  ASSERT_OK(summary);
  EXPECT_EQ(summary->already_applied, 2u);
  EXPECT_EQ(summary->applied, 0u);
  ExpectA(-1);
  EXPECT_EQ(job_.Report("a", 1).duplicates, 1u);
}

TEST_F(ExactlyOnceTest, WhatIsMissingIsApplied) {
  const UpdateId id = job_.NextStep();
  // A sender that died after the first shard.
  ShardsRequest request = HandRequest(job_, "a", 0);
  request.id = id;
  const std::vector<float> half(2, 1);
  const uint32_t server = job_.map().Find("a")->shards[0].server;
  ASSERT_OK(job_.Call(server, Method::kPush, EncodeShardsRequest(request),
                      {BytesOf(half)}));
  EXPECT_THAT(job_.Read("a"), IsOkAndHolds(std::vector<float>{-1, -1, 0, 0}));
  const absl::StatusOr<UpdateResult> summary = PushA(id);
  ASSERT_OK(summary);
  EXPECT_EQ(summary->applied, 1u);
  EXPECT_EQ(summary->already_applied, 1u);
  ExpectA(-1);
}

TEST_F(ExactlyOnceTest, AStepMayHaveSeveralUpdates) {
  UpdateId id = job_.NextStep();
  for (uint32_t push = 0; push < 3; ++push) {
    id.push = push;
    for (int attempt = 0; attempt < 2; ++attempt) ASSERT_OK(PushA(id));
  }
  ExpectA(-3);
}

TEST_F(ExactlyOnceTest, AnyOperationAndRows) {
  const UpdateId add = job_.NextStep();
  const UpdateId scatter = job_.NextStep();
  for (int attempt = 0; attempt < 3; ++attempt) {
    ASSERT_OK(Push(job_, *worker_, add, "a", std::vector<float>(4, 2),
                   Operation::kAdd));
    ASSERT_OK(Scatter(job_, *worker_, scatter, "b", {0, 2},
                      std::vector<float>{1, 5}));
  }
  ExpectA(2);
  EXPECT_THAT(job_.Read("b"), IsOkAndHolds(std::vector<float>{-1, 0, -5}));
}

TEST_F(ExactlyOnceTest, DenseAndRowsInOneUpdate) {
  const UpdateId id = job_.NextStep();
  const std::vector<float> dense(4, 1);
  const std::vector<int64_t> ids = {2, 0, 2};
  const std::vector<float> rows = {1, 2, 3};
  const DenseItem a = Dense(job_.Id("a"), dense);
  const RowsItem b = Rows(job_.Id("b"), ids, rows);
  for (int attempt = 0; attempt < 2; ++attempt) {
    const absl::StatusOr<UpdateResult> summary =
        job_.Run(*worker_, worker_->Update(id, Operation::kGradient,
                                           std::span(&a, 1), std::span(&b, 1)));
    ASSERT_OK(summary);
    EXPECT_EQ(summary->applied, attempt == 0 ? 4 : 0);
  }
  ExpectA(-1);
  EXPECT_THAT(job_.Read("b"), IsOkAndHolds(std::vector<float>{-2, 0, -4}));
}

TEST_F(ExactlyOnceTest, StepsUpToTheWatermarkAreOver) {
  const UpdateId late = job_.NextStep();
  const UpdateId now = job_.NextStep();
  ASSERT_OK(SetWatermark(late.step, job_.fence()));
  const absl::StatusOr<UpdateResult> summary = PushA(late);
  ASSERT_OK(summary);
  EXPECT_EQ(summary->already_applied, 2u);
  ExpectA(0);
  ASSERT_OK(PushA(now));
  ExpectA(-1);
  // It never goes back.
  ASSERT_OK(SetWatermark(0, job_.fence()));
  ASSERT_OK(PushA(late));
  ExpectA(-1);
  EXPECT_EQ(job_.Status(0).watermark, late.step);
}

TEST_F(ExactlyOnceTest, AnOlderTermIsFenced) {
  const UpdateId old = job_.NextStep();
  job_.set_term(3);
  ASSERT_OK(SetWatermark(0, job_.fence()));
  ASSERT_OK(PushA(job_.NextStep()));
  EXPECT_EQ(job_.Status(0).fence.term, 3u);
  EXPECT_THAT(PushA(old),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("fenced"), HasSubstr("term 1"),
                             HasSubstr("term 3"))));
  EXPECT_THAT(SetWatermark(9, old.fence),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  RoundRequest round;
  round.fence = old.fence;
  round.round = 1;
  round.replicas = {0};
  EXPECT_THAT(job_.Run(job_.chief(), job_.chief().Commit(round)),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(job_.Run(job_.chief(), job_.chief().Tick(round)),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(job_.Run(job_.chief(), job_.chief().Install(job_.map(), 1, 0)),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  ExpectA(-1);
  EXPECT_GE(job_.Status(0).fenced, 5u);
}

TEST_F(ExactlyOnceTest, ANewGenerationStartsFromNothing) {
  const UpdateId old = job_.NextStep();
  ASSERT_OK(PushA(old));
  ASSERT_OK(job_.NextGeneration());
  ExpectA(0);
  EXPECT_EQ(job_.Report("a").applied, 0u);
  // A zombie is told, by its client and, where that knows no better, by the
  // server.
  EXPECT_THAT(PushA(old), StatusIs(absl::StatusCode::kFailedPrecondition,
                                   HasSubstr("fenced")));
  ShardsRequest request = HandRequest(job_, "a");
  request.id = old;
  const std::vector<float> half(2, 1);
  const uint32_t server = job_.map().Find("a")->shards[0].server;
  EXPECT_THAT(job_.Call(server, Method::kPush, EncodeShardsRequest(request),
                        {BytesOf(half)}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("fenced: the caller is of generation 1, and "
                                 "the job has gone on to 2")));
  // The same step of the new generation is another one.
  UpdateId again = old;
  again.fence = job_.fence();
  ASSERT_OK(PushA(again));
  ExpectA(-1);
}

TEST_F(ExactlyOnceTest, ANewGenerationKnowsWhatIsOver) {
  const UpdateId old = job_.NextStep();
  ASSERT_OK(job_.NextGeneration(/*watermark=*/old.step));
  EXPECT_EQ(job_.Status(1).watermark, old.step);
  UpdateId again = old;
  again.fence = job_.fence();
  const absl::StatusOr<UpdateResult> summary = PushA(again);
  ASSERT_OK(summary);
  EXPECT_EQ(summary->already_applied, 2u);
  ExpectA(0);
}

TEST_F(ExactlyOnceTest, AReaderOfAnOlderGenerationIsFenced) {
  ShardsRequest request = HandRequest(job_, "a");
  ASSERT_OK(job_.NextGeneration());
  const uint32_t server = job_.map().Find("a")->shards[0].server;
  EXPECT_THAT(
      job_.Call(server, Method::kPull, EncodeShardsRequest(request)),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("fenced")));
}

// A client that has not heard of the generation that its caller is in finds
// out by itself.
TEST_F(ExactlyOnceTest, AClientCatchesUpWithTheGenerationOfItsCaller) {
  ParameterClient& fresh = job_.NewClient();
  ASSERT_OK(Push(job_, fresh, job_.NextStep(), "a", std::vector<float>(4, 1)));
  ExpectA(-1);
}

TEST_F(ExactlyOnceTest, ManyStepsAreRememberedInBoundedMemory) {
  // More than the record holds before it looks at the watermark; each of them
  // can be told from a new one until the watermark has passed it.
  constexpr int kSteps = 3000;
  std::vector<UpdateId> ids;
  for (int i = 0; i < kSteps; ++i) {
    ids.push_back(job_.NextStep());
    ASSERT_OK(PushA(ids.back()));
    if (i % 100 == 99) {
      ASSERT_OK(SetWatermark(ids.back().step, job_.fence()));
    }
  }
  for (int i = 0; i < kSteps; i += 97) {
    ASSERT_OK(PushA(ids[static_cast<size_t>(i)]));
  }
  ExpectA(-kSteps);
}

TEST_F(ExactlyOnceTest, WithoutAStepItIsRefused) {
  UpdateId id = job_.NextStep();
  id.step = 0;
  EXPECT_THAT(PushA(id), StatusIs(absl::StatusCode::kInvalidArgument,
                                  HasSubstr("step 0")));
  ExpectA(0);
}

}  // namespace
}  // namespace capstan

// Updates of many MiB, which are applied as they arrive (server/push.cc).
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <thread>
#include <vector>

#include "parameters/helpers.h"

namespace capstan {
namespace {

using testing::BytesOf;
using testing::Dense;
using ::testing::HasSubstr;
using testing::kLarge;
using testing::kNan;
using testing::ParameterJob;
using testing::Push;
using testing::ReadAs;
using testing::Spec;
using testing::StatusIs;

std::vector<float> All(size_t size, float value) {
  return std::vector<float>(size, value);
}

bool AllAre(const std::vector<float>& values, float value) {
  return std::all_of(values.begin(), values.end(),
                     [value](float v) { return v == value; });
}

// Waits until the server has read `count` requests.
void AwaitRequests(const ParameterJob& job, uint32_t server, uint64_t count) {
  while (job.Requests(server) < count) std::this_thread::yield();
}

class LargeTest : public ::testing::Test {
 protected:
  // Two large shards and a small variable on one server.
  void Create(NonFinite policy = NonFinite::kRefuse,
              Optimizer optimizer = Sgd{.learning_rate = 1.0}) {
    VariableSpec large = Spec("large", {2 * kLarge});
    large.non_finite = policy;
    large.optimizer = optimizer;
    VariableSpec small = Spec("small", {4});
    small.non_finite = policy;
    ASSERT_OK(job_.Create({large, small}, [](const Shape& shape, DType) {
      return int64_t{shape[0] == 4 ? 1 : 2};
    }));
    worker_ = &job_.NewClient();
    ASSERT_OK(job_.Run(*worker_, worker_->Refresh()));
  }

  // Both variables in one update.
  absl::StatusOr<UpdateResult> PushBoth(const UpdateId& id,
                                        const std::vector<float>& large,
                                        const std::vector<float>& small) {
    const std::vector<DenseItem> items = {Dense(job_.Id("large"), large),
                                          Dense(job_.Id("small"), small)};
    return job_.Run(*worker_,
                    worker_->Update(id, Operation::kGradient, items, {}));
  }

  std::vector<float> Read(const std::string& name) {
    absl::StatusOr<std::vector<float>> values = job_.Read(name);
    EXPECT_OK(values);
    return values.ok() ? *std::move(values) : std::vector<float>();
  }

  ParameterJob job_;
  ParameterClient* worker_ = nullptr;
};

TEST_F(LargeTest, IsAppliedOnce) {
  Create();
  std::vector<float> gradient(2 * kLarge);
  for (size_t i = 0; i < gradient.size(); ++i) {
    gradient[i] = static_cast<float>(i % 1000);
  }
  const UpdateId id = job_.NextStep();
  for (int attempt = 0; attempt < 3; ++attempt) {
    const absl::StatusOr<UpdateResult> summary =
        PushBoth(id, gradient, {1, 2, 3, 4});
    ASSERT_OK(summary);
    EXPECT_EQ(summary->applied, attempt == 0 ? 3 : 0);
    EXPECT_EQ(summary->already_applied, attempt == 0 ? 0 : 3);
  }
  const std::vector<float> values = Read("large");
  for (size_t i = 0; i < gradient.size(); ++i) {
    ASSERT_EQ(values[i], -gradient[i]) << i;
  }
  EXPECT_EQ(Read("small"), (std::vector<float>{-1, -2, -3, -4}));
  EXPECT_EQ(job_.Report("large", 1).version, 2u);
  EXPECT_EQ(job_.Report("large", 1).duplicates, 2u);
}

TEST_F(LargeTest, ManyInARowWithSlots) {
  Create(NonFinite::kRefuse, Momentum{.learning_rate = 1.0, .momentum = 0.5});
  float momentum = 0;
  float value = 0;
  for (int i = 1; i <= 5; ++i) {
    const auto g = static_cast<float>(i);
    ASSERT_OK(PushBoth(job_.NextStep(), All(2 * kLarge, g), {0, 0, 0, 0}));
    momentum = momentum * 0.5f - g;
    value += momentum;
    EXPECT_TRUE(AllAre(Read("large"), value)) << i;
  }
}

TEST_F(LargeTest, SixteenBits) {
  Create();
  const std::vector<BFloat16> gradient(2 * kLarge, BFloat16(3));
  ASSERT_OK(Push(job_, *worker_, job_.NextStep(), "large", gradient));
  EXPECT_TRUE(AllAre(Read("large"), -3));
}

TEST_F(LargeTest, ANanInTheLastPieceChangesNothing) {
  Create();
  std::vector<float> gradient = All(2 * kLarge, 1);
  gradient.back() = kNan;
  const UpdateId id = job_.NextStep();
  EXPECT_THAT(
      PushBoth(id, gradient, {1, 1, 1, 1}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("variable 'large', shard 1: the gradient has a NaN or "
                         "infinity in row 4194303, element 0 of the row")));
  EXPECT_TRUE(AllAre(Read("large"), 0));
  EXPECT_TRUE(AllAre(Read("small"), 0));
  EXPECT_EQ(job_.Report("large", 0).version, 1u);
  EXPECT_EQ(job_.Report("large", 1).refused, 1u);
  EXPECT_EQ(job_.Report("small").version, 1u);
  // It was refused, not applied: put right, it works under the same id.
  gradient.back() = 1;
  ASSERT_OK(PushBoth(id, gradient, {1, 1, 1, 1}));
  EXPECT_TRUE(AllAre(Read("large"), -1));
}

// What was not read of it does not stand in the way of the next.
TEST_F(LargeTest, ANanInTheFirstPieceChangesNothing) {
  Create();
  std::vector<float> gradient = All(2 * kLarge, 1);
  for (int i = 0; i < 3; ++i) {
    gradient[5] = kNan;
    EXPECT_THAT(PushBoth(job_.NextStep(), gradient, {1, 1, 1, 1}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("shard 0: the gradient has a NaN or "
                                   "infinity in row 5")));
    gradient[5] = 1;
    ASSERT_OK(PushBoth(job_.NextStep(), gradient, {1, 1, 1, 1}));
  }
  EXPECT_TRUE(AllAre(Read("large"), -3));
  EXPECT_TRUE(AllAre(Read("small"), -3));
}

TEST_F(LargeTest, ANanInTheLastVariableChangesNothing) {
  Create();
  EXPECT_THAT(PushBoth(job_.NextStep(), All(2 * kLarge, 1), {1, 1, kNan, 1}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("variable 'small', shard 0")));
  EXPECT_TRUE(AllAre(Read("large"), 0));
  EXPECT_TRUE(AllAre(Read("small"), 0));
}

TEST_F(LargeTest, ASkippedOneIsCountedAndSkippedWhole) {
  Create(NonFinite::kSkip);
  std::vector<float> gradient = All(2 * kLarge, 1);
  gradient.back() = kNan;
  const absl::StatusOr<UpdateResult> summary =
      PushBoth(job_.NextStep(), gradient, {1, 1, 1, 1});
  ASSERT_OK(summary);
  // Both shards of the variable; the other variable's gradient is sound.
  EXPECT_EQ(summary->skipped, 2u);
  EXPECT_EQ(summary->applied, 1u);
  EXPECT_TRUE(AllAre(Read("large"), 0));
  EXPECT_TRUE(AllAre(Read("small"), -1));
  EXPECT_EQ(job_.Report("large", 0).skipped, 1u);
  EXPECT_EQ(job_.Report("large", 1).skipped, 1u);
  ASSERT_OK(PushBoth(job_.NextStep(), All(2 * kLarge, 1), {0, 0, 0, 0}));
  EXPECT_TRUE(AllAre(Read("large"), -1));
}

TEST_F(LargeTest, AConnectionLostHalfWayChangesNothing) {
  Create();
  ASSERT_OK(PushBoth(job_.NextStep(), All(2 * kLarge, 1), {1, 1, 1, 1}));
  const ShardsRequest request = testing::HandRequest(job_, "large", 0);
  const std::vector<float> gradient = All(kLarge, 1);
  job_.CutAfter(3 << 20);
  EXPECT_THAT(job_.Call(0, Method::kPush, EncodeShardsRequest(request),
                        {BytesOf(gradient)}),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_TRUE(AllAre(Read("large"), -1));
  EXPECT_EQ(job_.Report("large", 0).version, 2u);
  // The same again.
  const absl::StatusOr<Reply> reply = job_.Call(
      0, Method::kPush, EncodeShardsRequest(request), {BytesOf(gradient)});
  ASSERT_OK(reply);
  const absl::StatusOr<ShardsReply> answer = DecodeShardsReply(reply->body);
  ASSERT_OK(answer);
  EXPECT_EQ(answer->outcomes, std::vector<Outcome>{Outcome::kApplied});
  EXPECT_EQ(Read("large")[0], -2);
  EXPECT_EQ(Read("large")[kLarge], -1);
}

TEST_F(LargeTest, AClientTriesAgainByItself) {
  Create();
  for (const uint64_t bytes : {100'000, 4 << 20, 9 << 20, 15 << 20}) {
    job_.CutAfter(bytes);
    ASSERT_OK(PushBoth(job_.NextStep(), All(2 * kLarge, 1), {1, 1, 1, 1}));
  }
  EXPECT_TRUE(AllAre(Read("large"), -4));
  EXPECT_TRUE(AllAre(Read("small"), -4));
  EXPECT_EQ(job_.Report("large", 0).applied, 4u);
  EXPECT_EQ(job_.Report("large", 1).applied, 4u);
}

// The worker's push stops in the middle, with shard 0 complete.
class HeldTest : public LargeTest {
 protected:
  void SetUp() override {
    Create();
    gradient_ = All(2 * kLarge, 1);
    id_ = job_.NextStep();
    items_ = {Dense(job_.Id("large"), gradient_)};
    job_.HoldAfter(12 << 20);
    held_ = job_.Start(*worker_,
                       worker_->Update(id_, Operation::kGradient, items_, {}));
    job_.AwaitHeld();
  }

  std::vector<float> gradient_;
  UpdateId id_;
  std::vector<DenseItem> items_;
  std::future<absl::StatusOr<UpdateResult>> held_;
};

TEST_F(HeldTest, ReadersSeeWhatWasBefore) {
  EXPECT_TRUE(AllAre(Read("large"), 0));
  EXPECT_EQ(job_.Report("large", 0).version, 1u);
  job_.Release();
  ASSERT_OK(held_.get());
  EXPECT_TRUE(AllAre(Read("large"), -1));
}

// Whichever of the two comes first, and whether or not the first is made to
// start again.
TEST_F(HeldTest, ARetryIsAppliedOnce) {
  ParameterClient& other = job_.NewClient();
  ASSERT_OK(job_.Run(other, other.Refresh()));
  const uint64_t before = job_.Requests(0);
  std::future<absl::StatusOr<UpdateResult>> retry =
      job_.Start(other, other.Update(id_, Operation::kGradient, items_, {}));
  AwaitRequests(job_, 0, before + 1);
  job_.Release();
  const absl::StatusOr<UpdateResult> first = held_.get();
  const absl::StatusOr<UpdateResult> second = retry.get();
  ASSERT_OK(first);
  ASSERT_OK(second);
  EXPECT_EQ(first->applied + second->applied, 2u);
  EXPECT_EQ(first->already_applied + second->already_applied, 2u);
  EXPECT_TRUE(AllAre(Read("large"), -1));
}

TEST_F(HeldTest, AnotherUpdateIsNotHeldUp) {
  ParameterClient& other = job_.NewClient();
  ASSERT_OK(job_.Run(other, other.Refresh()));
  const UpdateId id = job_.NextStep();
  ASSERT_OK(
      job_.Run(other, other.Update(id, Operation::kGradient, items_, {})));
  EXPECT_TRUE(AllAre(Read("large"), -1));
  job_.Release();
  ASSERT_OK(held_.get());
  EXPECT_TRUE(AllAre(Read("large"), -2));
}

TEST_F(HeldTest, AZombieOfAnOlderGenerationIsFenced) {
  ASSERT_OK(job_.NextGeneration());
  job_.Release();
  EXPECT_THAT(held_.get(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                    HasSubstr("fenced")));
  EXPECT_TRUE(AllAre(Read("large"), 0));
  EXPECT_EQ(job_.Report("large", 0).version, 1u);
}

TEST_F(HeldTest, AZombieOfAnOlderTermIsFenced) {
  job_.set_term(2);
  WatermarkRequest request;
  request.fence = job_.fence();
  ASSERT_OK(job_.Run(job_.chief(), job_.chief().SetWatermark(request)));
  job_.Release();
  EXPECT_THAT(held_.get(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                    HasSubstr("term 2 has taken over")));
  EXPECT_TRUE(AllAre(Read("large"), 0));
  // The shards are free again, and the step can be done by its new owner.
  UpdateId again = id_;
  again.fence = job_.fence();
  ASSERT_OK(Push(job_, *worker_, again, "large", gradient_));
  EXPECT_TRUE(AllAre(Read("large"), -1));
}

// As one that was called off: nothing of it comes later.
TEST_F(HeldTest, AStepThatIsOverMeanwhileChangesNothing) {
  WatermarkRequest request;
  request.fence = job_.fence();
  request.watermark = id_.step;
  ASSERT_OK(job_.Run(job_.chief(), job_.chief().SetWatermark(request)));
  job_.Release();
  ASSERT_OK(held_.get());
  EXPECT_TRUE(AllAre(Read("large"), 0));
  EXPECT_EQ(job_.Report("large", 0).version, 1u);
  EXPECT_EQ(job_.Report("large", 0).duplicates, 1u);
  // The shards are free again.
  ASSERT_OK(Push(job_, *worker_, job_.NextStep(), "large", gradient_));
  EXPECT_TRUE(AllAre(Read("large"), -1));
}

TEST_F(HeldTest, TheVariableIsDropped) {
  ASSERT_OK(job_.Drop({"large"}));
  job_.Release();
  EXPECT_THAT(held_.get(), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_TRUE(AllAre(Read("small"), 0));
}

TEST_F(HeldTest, TheSenderDies) {
  ParameterClient& other = job_.NewClient();
  ASSERT_OK(job_.Run(other, other.Refresh()));
  const uint64_t before = job_.Requests(0);
  std::future<absl::StatusOr<UpdateResult>> retry =
      job_.Start(other, other.Update(id_, Operation::kGradient, items_, {}));
  AwaitRequests(job_, 0, before + 1);
  // What waits for the stream must get on when it ends in nothing.
  job_.ReleaseCut();
  const absl::StatusOr<UpdateResult> second = retry.get();
  ASSERT_OK(second);
  ASSERT_OK(held_.get());
  EXPECT_TRUE(AllAre(Read("large"), -1));
  EXPECT_EQ(job_.Report("large", 0).applied, 1u);
}

Task<absl::Status> PushMany(ParameterClient& client, UpdateId first,
                            DenseItem item, int count) {
  for (int i = 0; i < count; ++i) {
    UpdateId id = first;
    id.step += static_cast<uint64_t>(i);
    const std::span<const DenseItem> items(&item, 1);
    const absl::StatusOr<UpdateResult> summary =
        co_await client.Update(id, Operation::kGradient, items, {});
    if (!summary.ok()) co_return summary.status();
  }
  co_return absl::OkStatus();
}

TEST_F(LargeTest, APullNeverSeesHalfAnUpdate) {
  Create();
  ParameterClient& reader = job_.NewClient();
  ASSERT_OK(job_.Run(reader, reader.Refresh()));
  const std::vector<float> gradient = All(2 * kLarge, 1);
  const DenseItem item = Dense(job_.Id("large"), gradient);
  constexpr int kPushes = 20;
  std::future<absl::Status> pushes =
      job_.Start(*worker_, PushMany(*worker_, job_.NextStep(), item, kPushes));
  float last = 0;
  while (last > -kPushes) {
    const absl::StatusOr<std::vector<float>> values =
        ReadAs<float>(job_, reader, "large");
    ASSERT_OK(values);
    const float first = values->front();
    EXPECT_LE(first, last);
    for (size_t i = 0; i < kLarge; ++i) ASSERT_EQ((*values)[i], first) << i;
    const float second = (*values)[kLarge];
    for (size_t i = 0; i < kLarge; ++i) {
      ASSERT_EQ((*values)[kLarge + i], second) << i;
    }
    last = first;
  }
  ASSERT_OK(pushes.get());
}

TEST_F(LargeTest, TwoWorkersPushAtOnce) {
  Create();
  ParameterClient& other = job_.NewClient();
  ASSERT_OK(job_.Run(other, other.Refresh()));
  const std::vector<float> gradient = All(2 * kLarge, 1);
  const DenseItem item = Dense(job_.Id("large"), gradient);
  constexpr int kPushes = 10;
  UpdateId first = job_.NextStep();
  std::future<absl::Status> one =
      job_.Start(*worker_, PushMany(*worker_, first, item, kPushes));
  first.step += 1000;
  std::future<absl::Status> two =
      job_.Start(other, PushMany(other, first, item, kPushes));
  ASSERT_OK(one.get());
  ASSERT_OK(two.get());
  EXPECT_TRUE(AllAre(Read("large"), -2 * kPushes));
}

}  // namespace
}  // namespace capstan

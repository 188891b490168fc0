// What is wrong is refused whole, before any value changes, and by name.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "parameters/helpers.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using testing::BytesOf;
using testing::Dense;
using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::kNan;
using testing::ParameterJob;
using testing::Plain;
using testing::Push;
using testing::Rows;
using testing::Scatter;
using testing::Spec;
using testing::StatusIs;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// With one server, which looks by itself, and with three, for which the client
// must look.
class ValidationTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  void Create(NonFinite policy = NonFinite::kRefuse) {
    VariableSpec a = Spec("a", {6, 2});
    VariableSpec b = Spec("b", {6, 2});
    VariableSpec c = Spec("c", {6, 2});
    b.non_finite = policy;
    ASSERT_OK(job_.Create(
        {a, b, c, Plain("i", {6}, DType::kI32), Plain("plain", {6})},
        FixedShards(3)));
  }

  absl::StatusOr<UpdateResult> PushThree(const std::vector<float>& a,
                                         const std::vector<float>& b,
                                         const std::vector<float>& c) {
    const std::vector<DenseItem> items = {
        Dense(job_.Id("a"), a), Dense(job_.Id("b"), b), Dense(job_.Id("c"), c)};
    return job_.Run(
        job_.chief(),
        job_.chief().Update(job_.NextStep(), Operation::kGradient, items, {}));
  }

  void ExpectNothingChanged() {
    for (const std::string name : {"a", "b", "c"}) {
      EXPECT_THAT(job_.Read(name), IsOkAndHolds(std::vector<float>(12)));
      for (uint32_t shard = 0; shard < 3; ++shard) {
        EXPECT_EQ(job_.Report(name, shard).version, 1u);
      }
    }
  }

  ParameterJob job_{{.servers = GetParam()}};
  const std::vector<float> ones_ = std::vector<float>(12, 1);
};
INSTANTIATE_TEST_SUITE_P(Servers, ValidationTest, ::testing::Values(1, 3));

TEST_P(ValidationTest, TheWrongSize) {
  Create();
  const std::vector<float> short_one(11, 1);
  EXPECT_THAT(PushThree(ones_, ones_, short_one),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("variable 'c' is f32[6, 2]: 48 bytes are "
                                 "needed, and 44 were given")));
  EXPECT_THAT(Scatter(job_, job_.chief(), job_.NextStep(), "c", {0, 5},
                      std::vector<float>(3)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'c' is f32[6, 2]")));
  ExpectNothingChanged();
}

TEST_P(ValidationTest, TheWrongType) {
  Create();
  EXPECT_THAT(
      Push(job_, job_.chief(), job_.NextStep(), "a", std::vector<double>(12)),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("'a'"), HasSubstr("f64"))));
  EXPECT_THAT(Push(job_, job_.chief(), job_.NextStep(), "i",
                   std::vector<float>(6), Operation::kSet),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("'i'"), HasSubstr("it is i32"))));
  EXPECT_THAT(
      Push(job_, job_.chief(), job_.NextStep(), "plain", std::vector<float>(6)),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("'plain' has no optimizer")));
  ExpectNothingChanged();
}

TEST_P(ValidationTest, AVariableTwice) {
  Create();
  const std::vector<DenseItem> items = {Dense(job_.Id("a"), ones_),
                                        Dense(job_.Id("a"), ones_)};
  EXPECT_THAT(job_.Run(job_.chief(),
                       job_.chief().Update(job_.NextStep(),
                                           Operation::kGradient, items, {})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("variable 'a' occurs twice")));
  const std::vector<int64_t> ids = {1};
  const std::vector<float> row(2, 1);
  const RowsItem rows = Rows(job_.Id("a"), ids, row);
  EXPECT_THAT(job_.Run(job_.chief(),
                       job_.chief().Update(
                           job_.NextStep(), Operation::kGradient,
                           std::span(items).first(1), std::span(&rows, 1))),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("variable 'a' occurs twice")));
  ExpectNothingChanged();
}

TEST_P(ValidationTest, AnIdOutOfRange) {
  Create();
  for (const int64_t id : {int64_t{-1}, int64_t{6}, INT64_MAX, INT64_MIN}) {
    EXPECT_THAT(Scatter(job_, job_.chief(), job_.NextStep(), "b", {0, 5, id},
                        std::vector<float>(6, 1)),
                StatusIs(absl::StatusCode::kOutOfRange,
                         HasSubstr("variable 'b': id " + std::to_string(id) +
                                   " at position 2 is not in [0, 6)")));
    EXPECT_THAT(
        testing::GatherRows(job_, job_.chief(), "b", {0, 5, id}),
        StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("at position 2")));
  }
  ExpectNothingChanged();
}

TEST_P(ValidationTest, NotFiniteIsRefusedWhole) {
  Create();
  uint64_t refused = 0;
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    std::vector<float> gradient = ones_;
    gradient[9] = bad;
    EXPECT_THAT(PushThree(ones_, gradient, ones_),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("variable 'b', shard 2: the gradient has a "
                                   "NaN or infinity in row 4, element 1 of the "
                                   "row; nothing was changed")));
    EXPECT_THAT(Scatter(job_, job_.chief(), job_.NextStep(), "b", {0, 5, 3, 1},
                        std::vector<float>{1, 1, 1, 1, bad, 1, 1, 1}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("variable 'b', shard 1: the gradient has a "
                                   "NaN or infinity in row 3, element 0 of the "
                                   "row")));
    refused += 2;
  }
  ExpectNothingChanged();
  if (GetParam() == 1) {
    EXPECT_EQ(job_.Report("b", 1).refused + job_.Report("b", 2).refused,
              refused);
  }
}

TEST_P(ValidationTest, AssignmentsAreLookedAtToo) {
  Create();
  EXPECT_THAT(Push(job_, job_.chief(), job_.NextStep(), "plain",
                   std::vector<float>{0, 0, 0, 0, 0, kNan}, Operation::kSet),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("variable 'plain', shard 2: the values have a "
                                 "NaN or infinity in row 5")));
  EXPECT_THAT(Push(job_, job_.chief(), job_.NextStep(), "i",
                   std::vector<int32_t>{1, 1, 1, 1, 1, 0}, Operation::kDiv),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("'i'"), HasSubstr("by 0"))));
  EXPECT_THAT(Scatter(job_, job_.chief(), job_.NextStep(), "i", {0, 5},
                      std::vector<int32_t>{1, 0}, Operation::kDiv),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("'i'"), HasSubstr("by 0"))));
  for (uint32_t shard = 0; shard < 3; ++shard) {
    EXPECT_EQ(job_.Report("plain", shard).version, 1u);
    EXPECT_EQ(job_.Report("i", shard).version, 1u);
  }
}

TEST_P(ValidationTest, NotFiniteIsSkippedWholeAndCounted) {
  Create(NonFinite::kSkip);
  std::vector<float> gradient = ones_;
  gradient[9] = kNan;
  absl::StatusOr<UpdateResult> summary = PushThree(ones_, gradient, ones_);
  ASSERT_OK(summary);
  EXPECT_EQ(summary->applied, 6u);
  EXPECT_EQ(summary->skipped, 3u);
  EXPECT_THAT(job_.Read("a"), IsOkAndHolds(std::vector<float>(12, -1)));
  EXPECT_THAT(job_.Read("b"), IsOkAndHolds(std::vector<float>(12, 0)));
  EXPECT_THAT(job_.Read("c"), IsOkAndHolds(std::vector<float>(12, -1)));
  summary = Scatter(job_, job_.chief(), job_.NextStep(), "b", {0, 5, 3},
                    std::vector<float>{1, 1, kInfinity, 1, 1, 1});
  ASSERT_OK(summary);
  EXPECT_EQ(summary->skipped, 3u);
  EXPECT_THAT(job_.Read("b"), IsOkAndHolds(std::vector<float>(12, 0)));
  for (uint32_t shard = 0; shard < 3; ++shard) {
    EXPECT_EQ(job_.Report("b", shard).version, 1u);
    EXPECT_EQ(job_.Report("b", shard).skipped, 2u);
  }
}

TEST_P(ValidationTest, ASkippedOneIsOver) {
  Create(NonFinite::kSkip);
  const UpdateId id = job_.NextStep();
  std::vector<float> gradient(12, kNan);
  ASSERT_OK(Push(job_, job_.chief(), id, "b", gradient));
  gradient.assign(12, 1);
  const absl::StatusOr<UpdateResult> summary =
      Push(job_, job_.chief(), id, "b", gradient);
  ASSERT_OK(summary);
  EXPECT_EQ(summary->already_applied, 3u);
  EXPECT_THAT(job_.Read("b"), IsOkAndHolds(std::vector<float>(12, 0)));
}

TEST_P(ValidationTest, NotFiniteIsAcceptedIfSoDesired) {
  Create(NonFinite::kAccept);
  std::vector<float> gradient = ones_;
  gradient[9] = kInfinity;
  ASSERT_OK(PushThree(ones_, gradient, ones_));
  const absl::StatusOr<std::vector<float>> values = job_.Read("b");
  ASSERT_OK(values);
  EXPECT_EQ((*values)[9], -kInfinity);
  EXPECT_EQ((*values)[8], -1);
}

TEST_P(ValidationTest, MemoryOfTheWrongSizeIsNotPulledInto) {
  Create();
  std::vector<float> values(11, 7);
  PullItem item;
  item.variable = job_.Id("a");
  item.into = BytesOf(values);
  EXPECT_THAT(
      job_.Run(job_.chief(), job_.chief().Pull(std::span(&item, 1))),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("'a' is f32[6, 2]: 48 bytes are needed, and 44")));
  EXPECT_EQ(values, std::vector<float>(11, 7));
}

TEST_P(ValidationTest, BoolsThatAreNone) {
  ASSERT_OK(job_.Create({Plain("mask", {6}, DType::kBool)}, FixedShards(3)));
  const std::vector<uint8_t> bad = {1, 1, 1, 1, 1, 2};
  DenseItem item = Dense(job_.Id("mask"), bad);
  item.dtype = DType::kBool;
  EXPECT_THAT(
      job_.Run(job_.chief(),
               job_.chief().Update(job_.NextStep(), Operation::kSet,
                                   std::span(&item, 1), {})),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("'mask'"), HasSubstr("neither 0 nor 1"))));
  for (uint32_t shard = 0; shard < 3; ++shard) {
    EXPECT_EQ(job_.Report("mask", shard).version, 1u);
  }
}

}  // namespace
}  // namespace capstan

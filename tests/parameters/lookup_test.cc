// Embedding lookups over three shards of 5, 5 and 4 rows.
#include "client/lookup.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "parameters/helpers.h"

namespace capstan {
namespace {

using testing::Counting;
using ::testing::HasSubstr;
using testing::ParameterJob;
using testing::Plain;
using testing::Push;
using testing::StatusIs;

class LookupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(job_.Create({Plain("t", {14, 2})}, FixedShards(3)));
    ASSERT_OK(Push(job_, job_.chief(), job_.NextStep(), "t", Counting(28),
                   Operation::kSet));
    worker_ = &job_.NewClient();
  }

  Tensor Take(absl::StatusOr<Tensor> result) {
    EXPECT_OK(result);
    return result.ok() ? *std::move(result) : Tensor();
  }
  Tensor Sparse(IdLists lists, Combiner combiner) {
    return Take(job_.Run(*worker_, LookupSparse(*worker_, job_.Id("t"),
                                                std::move(lists), combiner)));
  }
  Tensor Safe(IdLists lists, Combiner combiner) {
    return Take(job_.Run(
        *worker_,
        SafeLookupSparse(*worker_, job_.Id("t"), std::move(lists), combiner)));
  }
  std::vector<uint64_t> Requests() {
    return {job_.Requests(0), job_.Requests(1), job_.Requests(2)};
  }

  ParameterJob job_{{.servers = 3}};
  ParameterClient* worker_ = nullptr;
};

TEST_F(LookupTest, OneGatherForEachServer) {
  ASSERT_OK(job_.Run(*worker_, worker_->Refresh()));
  const std::vector<uint64_t> before = Requests();
  const Tensor rows = Take(job_.Run(
      *worker_, LookupRows(*worker_, job_.Id("t"), {13, 0, 7, 13, 4, 5, 10})));
  const std::vector<uint64_t> after = Requests();
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(after[i], before[i] + 1);
  EXPECT_EQ(rows, Tensor::FromValues(
                      {7, 2}, std::vector<float>{26, 27, 0, 1, 14, 15, 26, 27,
                                                 8, 9, 10, 11, 20, 21}));
}

TEST_F(LookupTest, OnlyTheServersThatHaveTheRows) {
  ASSERT_OK(job_.Run(*worker_, worker_->Refresh()));
  const std::vector<uint64_t> before = Requests();
  const Tensor rows =
      Take(job_.Run(*worker_, LookupRows(*worker_, job_.Id("t"), {6, 6})));
  EXPECT_EQ(rows, Tensor::FromValues({2, 2}, {12.0f, 13.0f, 12.0f, 13.0f}));
  const std::vector<uint64_t> after = Requests();
  const uint32_t server = job_.map().Find("t")->shards[1].server;
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(after[i], before[i] + (i == server ? 1 : 0));
  }
}

TEST_F(LookupTest, NoRows) {
  const Tensor rows =
      Take(job_.Run(*worker_, LookupRows(*worker_, job_.Id("t"), {})));
  EXPECT_EQ(rows.shape(), (Shape{0, 2}));
}

TEST_F(LookupTest, AnyType) {
  ASSERT_OK(job_.Create({Plain("i", {6}, DType::kI64)}, FixedShards(3)));
  ASSERT_OK(Push(job_, job_.chief(), job_.NextStep(), "i",
                 std::vector<int64_t>{10, 11, 12, 13, 14, 15},
                 Operation::kSet));
  const Tensor rows =
      Take(job_.Run(*worker_, LookupRows(*worker_, job_.Id("i"), {5, 0})));
  EXPECT_EQ(rows, Tensor::FromValues({2}, {int64_t{15}, int64_t{10}}));
  EXPECT_THAT(
      job_.Run(*worker_,
               LookupSparse(*worker_, job_.Id("i"),
                            {.ids = {1}, .splits = {0, 1}}, Combiner::kSum)),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'i' is i64")));
}

TEST_F(LookupTest, Combiners) {
  const IdLists lists = {
      .ids = {0, 13, 13, 6}, .splits = {0, 2, 2, 4}, .weights = {}};
  EXPECT_EQ(
      Sparse(lists, Combiner::kSum),
      Tensor::FromValues({3, 2}, {26.0f, 28.0f, 0.0f, 0.0f, 38.0f, 40.0f}));
  EXPECT_EQ(
      Sparse(lists, Combiner::kMean),
      Tensor::FromValues({3, 2}, {13.0f, 14.0f, 0.0f, 0.0f, 19.0f, 20.0f}));
  const Tensor sqrtn = Sparse(lists, Combiner::kSqrtN);
  EXPECT_FLOAT_EQ(sqrtn.Values<float>()[0], 26 / std::sqrt(2.0f));
  EXPECT_EQ(sqrtn.Values<float>()[2], 0);
}

TEST_F(LookupTest, Weights) {
  const IdLists lists = {
      .ids = {1, 2, 12}, .splits = {0, 2, 3}, .weights = {3, 4, 0.5}};
  // Rows (2, 3), (4, 5) and (24, 25).
  EXPECT_EQ(Sparse(lists, Combiner::kSum),
            Tensor::FromValues({2, 2}, {22.0f, 29.0f, 12.0f, 12.5f}));
  const Tensor mean = Sparse(lists, Combiner::kMean);
  EXPECT_FLOAT_EQ(mean.Values<float>()[0], 22.0f / 7);
  EXPECT_FLOAT_EQ(mean.Values<float>()[3], 25);
  const Tensor sqrtn = Sparse(lists, Combiner::kSqrtN);
  EXPECT_FLOAT_EQ(sqrtn.Values<float>()[0], 22.0f / 5);
  EXPECT_FLOAT_EQ(sqrtn.Values<float>()[2], 24);
}

TEST_F(LookupTest, WeightsThatAddUpToNothing) {
  const IdLists lists = {.ids = {1, 2}, .splits = {0, 2}, .weights = {1, -1}};
  EXPECT_EQ(Sparse(lists, Combiner::kMean),
            Tensor::FromValues({1, 2}, {0.0f, 0.0f}));
}

TEST_F(LookupTest, TheSafeOneLeavesOutWhatIsNoId) {
  const IdLists lists = {.ids = {1, -1, 13, -7, 5, 6},
                         .splits = {0, 3, 4, 4, 6},
                         .weights = {1, 1, 3, 1, 0, -2}};
  // The second has no id, the third nothing, the fourth no weight.
  EXPECT_EQ(Safe(lists, Combiner::kMean),
            Tensor::FromValues(
                {4, 2}, {20.0f, 21.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f}));
  IdLists unweighted = lists;
  unweighted.weights.clear();
  EXPECT_EQ(Safe(unweighted, Combiner::kSum),
            Tensor::FromValues(
                {4, 2}, {28.0f, 30.0f, 0.0f, 0.0f, 0.0f, 0.0f, 22.0f, 24.0f}));
}

TEST_F(LookupTest, TheOtherOneRefusesIt) {
  EXPECT_THAT(
      job_.Run(*worker_, LookupSparse(*worker_, job_.Id("t"),
                                      {.ids = {1, -1}, .splits = {0, 2}},
                                      Combiner::kSum)),
      StatusIs(absl::StatusCode::kOutOfRange,
               HasSubstr("'t': id -1 at position 1")));
}

TEST_F(LookupTest, HalfTables) {
  ASSERT_OK(job_.Create({Plain("h", {4}, DType::kF16)}, FixedShards(2)));
  ASSERT_OK(Push(
      job_, job_.chief(), job_.NextStep(), "h",
      std::vector<Float16>{Float16(1), Float16(2), Float16(2048), Float16(1)},
      Operation::kSet));
  const Tensor sums = Take(job_.Run(
      *worker_,
      LookupSparse(*worker_, job_.Id("h"),
                   {.ids = {2, 3, 0}, .splits = {0, 2, 3}}, Combiner::kSum)));
  EXPECT_EQ(sums, Tensor::FromValues({2}, {2049.0f, 1.0f}));
}

TEST_F(LookupTest, ListsThatMakeNoSense) {
  const std::vector<IdLists> bad = {
      {.ids = {1}, .splits = {}, .weights = {}},
      {.ids = {1}, .splits = {0}, .weights = {}},
      {.ids = {1}, .splits = {1, 1}, .weights = {}},
      {.ids = {1, 2}, .splits = {0, 2, 1, 2}, .weights = {}},
      {.ids = {1, 2}, .splits = {0, 2}, .weights = {1}}};
  for (const IdLists& lists : bad) {
    EXPECT_THAT(job_.Run(*worker_, LookupSparse(*worker_, job_.Id("t"), lists,
                                                Combiner::kSum)),
                StatusIs(absl::StatusCode::kInvalidArgument));
    EXPECT_THAT(job_.Run(*worker_, SafeLookupSparse(*worker_, job_.Id("t"),
                                                    lists, Combiner::kSum)),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
}

TEST_F(LookupTest, AScalarHasNoRows) {
  ASSERT_OK(job_.Create({Plain("s", {})}));
  EXPECT_THAT(job_.Run(*worker_, LookupRows(*worker_, job_.Id("s"), {0})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'s' is a scalar")));
}

}  // namespace
}  // namespace capstan

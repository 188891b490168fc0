// Embedding lookups over three shards of 5, 5 and 4 rows.
#include "client/lookup.h"

#include <gtest/gtest.h>

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
}

TEST_F(LookupTest, AScalarHasNoRows) {
  ASSERT_OK(job_.Create({Plain("s", {})}));
  EXPECT_THAT(job_.Run(*worker_, LookupRows(*worker_, job_.Id("s"), {0})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'s' is a scalar")));
}

}  // namespace
}  // namespace capstan

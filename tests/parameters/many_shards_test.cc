// More shards on a server than a message may have attachments.
#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <vector>

#include "parameters/helpers.h"

namespace capstan {
namespace {

using testing::BytesOf;
using testing::Dense;
using ::testing::HasSubstr;
using testing::ParameterJob;
using testing::Rows;
using testing::Spec;
using testing::StatusIs;

constexpr uint64_t kMany = 65'536;

TEST(ManyShardsTest, AreReadAndUpdatedInOneCall) {
  ParameterJob job;
  ParameterClient& client = job.chief();
  VariableSpec spec = Spec("many", {int64_t{kMany}});
  spec.non_finite = NonFinite::kRefuse;
  ASSERT_OK(job.Create({spec}, FixedShards(kMany)));
  spec.name = "one";
  spec.shape = {1};
  ASSERT_OK(job.Create({spec}));
  std::vector<float> many(kMany);
  std::vector<float> one(1);
  const auto pull = [&] {
    std::vector<PullItem> items(2);
    items[0] = {.variable = job.Id("many"), .into = BytesOf(many)};
    items[1] = {.variable = job.Id("one"), .into = BytesOf(one)};
    return job.Run(client, client.Pull(items));
  };

  const std::vector<float> ones(kMany, 1);
  const std::vector<float> two = {2};
  const std::vector<DenseItem> dense = {Dense(job.Id("many"), ones),
                                        Dense(job.Id("one"), two)};
  const UpdateId id = job.NextStep();
  const auto push = [&] {
    return job.Run(client, client.Update(id, Operation::kGradient, dense, {}));
  };
  absl::StatusOr<UpdateResult> result = push();
  ASSERT_OK(result);
  EXPECT_EQ(result->applied, kMany + 1);
  // Each of the requests may be repeated.
  result = push();
  ASSERT_OK(result);
  EXPECT_EQ(result->already_applied, kMany + 1);
  const uint64_t before = job.Requests(0);
  ASSERT_OK(pull());
  EXPECT_EQ(job.Requests(0) - before, 2u);
  EXPECT_EQ(many, std::vector<float>(kMany, -1));
  EXPECT_EQ(one, std::vector<float>{-2});

  // What is refused changes nothing, although there are two requests.
  const std::vector<float> bad = {std::numeric_limits<float>::quiet_NaN()};
  const std::vector<DenseItem> half_bad = {dense[0], Dense(job.Id("one"), bad)};
  EXPECT_THAT(
      job.Run(client, client.Update(job.NextStep(), Operation::kGradient,
                                    half_bad, {})),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("variable 'one', shard 0: the gradient has a NaN")));
  ASSERT_OK(pull());
  EXPECT_EQ(many, std::vector<float>(kMany, -1));

  // By rows each shard has two attachments.
  std::vector<int64_t> ids(kMany);
  std::iota(ids.rbegin(), ids.rend(), 0);
  const std::vector<float> counting = testing::Counting(kMany);
  const std::vector<int64_t> first = {0};
  const std::vector<RowsItem> rows = {Rows(job.Id("many"), ids, counting),
                                      Rows(job.Id("one"), first, two)};
  result =
      job.Run(client, client.Update(job.NextStep(), Operation::kSet, {}, rows));
  ASSERT_OK(result);
  EXPECT_EQ(result->applied, kMany + 1);
  std::vector<GatherItem> items(2);
  items[0] = {.variable = job.Id("many"), .ids = ids, .into = BytesOf(many)};
  items[1] = {.variable = job.Id("one"), .ids = first, .into = BytesOf(one)};
  ASSERT_OK(job.Run(client, client.Gather(items)));
  EXPECT_EQ(many, counting);
  EXPECT_EQ(one, two);
}

}  // namespace
}  // namespace capstan

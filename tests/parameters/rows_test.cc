// Updates and reads of some rows, against a variable in one piece.
#include <gtest/gtest.h>

#include <vector>

#include "parameters/helpers.h"

namespace capstan {
namespace {

using testing::BytesOf;
using testing::Counting;
using testing::GatherRows;
using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::ParameterJob;
using testing::Plain;
using testing::Push;
using testing::ReadAs;
using testing::Scatter;
using testing::Spec;
using testing::StatusIs;

TEST(RowsTest, GatherFindsEachIdAtItsPlace) {
  ParameterJob job({.servers = 3});
  // Uneven: 11, 11 and 10 rows.
  ASSERT_OK(job.Create({Plain("t", {32, 3})}, FixedShards(3)));
  ParameterClient& client = job.chief();
  ASSERT_OK(
      Push(job, client, job.NextStep(), "t", Counting(96), Operation::kSet));
  const std::vector<std::vector<int64_t>> lists = {
      {},
      {0},
      {31},
      {10, 11, 21, 22},
      {31, 0, 31, 0, 31},
      {5, 5, 5},
      {30, 20, 10, 0, 1, 11, 21, 31},
      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}};
  for (const std::vector<int64_t>& ids : lists) {
    const absl::StatusOr<std::vector<float>> rows =
        GatherRows(job, client, "t", ids);
    ASSERT_OK(rows);
    for (size_t i = 0; i < ids.size(); ++i) {
      for (size_t k = 0; k < 3; ++k) {
        EXPECT_EQ((*rows)[3 * i + k],
                  static_cast<float>(3 * ids[i]) + static_cast<float>(k));
      }
    }
  }
}

TEST(RowsTest, SeveralVariablesAreOneRequestForEachServer) {
  ParameterJob job({.servers = 2});
  ASSERT_OK(job.Create({Spec("a", {8}), Spec("b", {8}), Spec("c", {8})},
                       FixedShards(2)));
  ParameterClient& client = job.chief();
  const std::vector<int64_t> ids = {7, 0, 7};
  std::vector<std::vector<float>> rows(3, std::vector<float>(3, 9));
  std::vector<std::vector<float>> gradients(3, std::vector<float>{1, 2, 3});
  std::vector<GatherItem> items;
  std::vector<RowsItem> updates;
  std::vector<ShardVersions> versions(3);
  for (const size_t i : {2, 0, 1}) {
    const std::string name(1, static_cast<char>('a' + i));
    GatherItem item;
    item.variable = job.Id(name);
    item.ids = ids;
    item.into = BytesOf(rows[i]);
    item.versions = &versions[i];
    items.push_back(item);
    updates.push_back(testing::Rows(job.Id(name), ids, gradients[i]));
  }
  const uint64_t first = job.Requests(0);
  const uint64_t second = job.Requests(1);
  ASSERT_OK(job.Run(client, client.Update(job.NextStep(), Operation::kGradient,
                                          {}, updates)));
  ASSERT_OK(job.Run(client, client.Gather(items)));
  EXPECT_EQ(job.Requests(0), first + 2);
  EXPECT_EQ(job.Requests(1), second + 2);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(rows[i], (std::vector<float>{-4, -2, -4}));
    EXPECT_EQ(versions[i].versions, (std::vector<uint64_t>{2, 2}));
  }
}

TEST(RowsTest, ServersWithoutRowsAreNotAsked) {
  ParameterJob job({.servers = 3});
  ASSERT_OK(job.Create({Spec("t", {30})}, FixedShards(3)));
  std::vector<uint64_t> before;
  for (uint32_t s = 0; s < 3; ++s) before.push_back(job.Requests(s));
  ASSERT_OK(GatherRows(job, job.chief(), "t", {12, 15, 12}));
  ASSERT_OK(GatherRows(job, job.chief(), "t", {}));
  ASSERT_OK(
      Scatter(job, job.chief(), job.NextStep(), "t", {}, std::vector<float>{}));
  const uint32_t asked = job.map().Find("t")->shards[1].server;
  for (uint32_t s = 0; s < 3; ++s) {
    EXPECT_EQ(job.Requests(s), before[s] + (s == asked ? 1 : 0));
  }
}

TEST(RowsTest, GradientsOfEqualIdsAreAddedUp) {
  // As a dense gradient with those sums, bit by bit, whatever the optimizer.
  const std::vector<Optimizer> optimizers = {
      Sgd{.learning_rate = 0.5}, Adagrad{.learning_rate = 0.5},
      Momentum{.learning_rate = 0.5, .momentum = 0.9},
      Adam{.learning_rate = 0.5, .row_moments = RowMoments::kExact}};
  for (const Optimizer& optimizer : optimizers) {
    ParameterJob job({.servers = 2});
    VariableSpec rows = Spec("rows", {7, 2});
    rows.optimizer = optimizer;
    VariableSpec dense = rows;
    dense.name = "dense";
    ASSERT_OK(job.Create({rows, dense}, FixedShards(3)));
    const std::vector<std::vector<int64_t>> lists = {
        {6, 0, 3, 6, 6, 1}, {2, 2, 4, 5, 5, 5}, {0, 1, 2, 3, 4, 5}};
    for (const std::vector<int64_t>& ids : lists) {
      const std::vector<float> values = Counting(12, 0.25f);
      std::vector<float> sums(14);
      for (size_t i = 0; i < ids.size(); ++i) {
        for (size_t k = 0; k < 2; ++k) {
          sums[2 * static_cast<size_t>(ids[i]) + k] += values[2 * i + k];
        }
      }
      ASSERT_OK(Scatter(job, job.chief(), job.NextStep(), "rows", ids, values));
      // Rows that have no gradient stay as they are only with these rules.
      const bool exact = std::holds_alternative<Adam>(optimizer.rule);
      const bool stateless = std::holds_alternative<Sgd>(optimizer.rule) ||
                             std::holds_alternative<Adagrad>(optimizer.rule);
      if (!exact && !stateless) continue;
      ASSERT_OK(Push(job, job.chief(), job.NextStep(), "dense", sums));
      EXPECT_EQ(job.Read("rows").value(), job.Read("dense").value());
    }
  }
}

// With exact moments the rows of shards that no id falls on decay, too.
TEST(RowsTest, ExactMomentsReachEveryShard) {
  ParameterJob job({.servers = 3});
  VariableSpec one = Spec("one", {9});
  one.optimizer = Adam{.learning_rate = 0.1, .row_moments = RowMoments::kExact};
  VariableSpec three = one;
  three.name = "three";
  ASSERT_OK(job.Create({one}, FixedShards(1)));
  ASSERT_OK(job.Create({three}, FixedShards(3)));
  const std::vector<std::vector<int64_t>> lists = {
      {0, 4, 8}, {0}, {8}, {4, 4}, {0, 1}};
  for (const std::vector<int64_t>& ids : lists) {
    const std::vector<float> values = Counting(ids.size(), 1);
    for (const std::string name : {"one", "three"}) {
      ASSERT_OK(Scatter(job, job.chief(), job.NextStep(), name, ids, values));
    }
    EXPECT_EQ(job.Read("one").value(), job.Read("three").value());
  }
}

TEST(RowsTest, HalfGradientsOfEqualIdsAreAddedAsFloats) {
  ParameterJob job({.servers = 2});
  ASSERT_OK(job.Create({Spec("t", {4})}, FixedShards(2)));
  // 2048 + 1 is not a half.
  const std::vector<Float16> values = {Float16(2048), Float16(1), Float16(3)};
  ASSERT_OK(Scatter(job, job.chief(), job.NextStep(), "t", {3, 3, 0}, values));
  EXPECT_THAT(job.Read("t"), IsOkAndHolds(std::vector<float>{-3, 0, 0, -2049}));
}

template <typename T>
class ScatterTest : public ::testing::Test {};
using Types = ::testing::Types<float, double, int32_t, int64_t, uint8_t>;
TYPED_TEST_SUITE(ScatterTest, Types);

TYPED_TEST(ScatterTest, AllOperationsAreThoseOfAVariableInOnePiece) {
  using T = TypeParam;
  ParameterJob job({.servers = 3});
  // Uneven: 11, 11 and 10 rows.
  ASSERT_OK(job.Create({Plain("v", {32, 2}, DTypeOf<T>())}, FixedShards(3)));
  ParameterClient& client = job.chief();
  std::vector<T> model(64);
  const std::vector<int64_t> all = {31, 0,  22, 10, 11, 21, 11,
                                    5,  31, 31, 0,  9,  30, 12};
  const auto apply = [&](Operation operation, T base, auto function) {
    std::vector<T> values(2 * all.size());
    for (size_t i = 0; i < all.size(); ++i) {
      for (size_t k = 0; k < 2; ++k) {
        values[2 * i + k] = static_cast<T>(base + static_cast<T>(i % 4 + k));
        T& element = model[2 * static_cast<size_t>(all[i]) + k];
        element = static_cast<T>(function(element, values[2 * i + k]));
      }
    }
    ASSERT_OK(
        Scatter(job, client, job.NextStep(), "v", all, values, operation));
    EXPECT_THAT(ReadAs<T>(job, client, "v"), IsOkAndHolds(model))
        << OperationName(operation);
  };
  apply(Operation::kSet, T{50}, [](T, T b) { return b; });
  apply(Operation::kAdd, T{7}, [](T a, T b) { return a + b; });
  apply(Operation::kSub, T{5}, [](T a, T b) { return a - b; });
  apply(Operation::kMul, T{2}, [](T a, T b) { return a * b; });
  apply(Operation::kDiv, T{3}, [](T a, T b) { return a / b; });
  apply(Operation::kMin, T{10}, [](T a, T b) { return a < b ? a : b; });
  apply(Operation::kMax, T{9}, [](T a, T b) { return a < b ? b : a; });
}

TEST(RowsTest, BoolsAreSet) {
  ParameterJob job({.servers = 2});
  ASSERT_OK(job.Create({Plain("mask", {4}, DType::kBool)}, FixedShards(2)));
  const std::vector<uint8_t> set = {1, 1};
  const std::vector<int64_t> ids = {3, 0};
  RowsItem item = testing::Rows(job.Id("mask"), ids, set);
  item.dtype = DType::kBool;
  ParameterClient& client = job.chief();
  ASSERT_OK(job.Run(client, client.Update(job.NextStep(), Operation::kSet, {},
                                          std::span(&item, 1))));
  EXPECT_THAT(ReadAs<uint8_t>(job, client, "mask"),
              IsOkAndHolds(std::vector<uint8_t>{1, 0, 0, 1}));
  EXPECT_THAT(job.Run(client, client.Update(job.NextStep(), Operation::kAdd, {},
                                            std::span(&item, 1))),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("bools can be set, but have no add")));
}

TEST(RowsTest, RowsWithoutElements) {
  ParameterJob job({.servers = 2});
  ASSERT_OK(job.Create({Spec("t", {4, 0})}, FixedShards(2)));
  EXPECT_THAT(GatherRows(job, job.chief(), "t", {0, 3}),
              IsOkAndHolds(std::vector<float>{}));
  EXPECT_OK(Scatter(job, job.chief(), job.NextStep(), "t", {0, 3, 3},
                    std::vector<float>{}));
}

}  // namespace
}  // namespace capstan

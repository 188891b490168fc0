// Whole variables: created, pulled and updated.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "parameters/helpers.h"

namespace capstan {
namespace {

using testing::BytesOf;
using testing::Counting;
using testing::Dense;
using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::ParameterJob;
using testing::Plain;
using testing::Push;
using testing::ReadAs;
using testing::Spec;
using testing::StatusIs;

TEST(DenseTest, AGradientIsAppliedOnce) {
  ParameterJob job({.servers = 2});
  ASSERT_OK(job.Create({Spec("w", {5, 3})}, FixedShards(2)));
  ParameterClient& worker = job.NewClient();
  ASSERT_OK(job.Run(worker, worker.Refresh()));
  const std::vector<float> gradient = Counting(15);
  const UpdateId id = job.NextStep();
  for (int attempt = 0; attempt < 3; ++attempt) {
    const absl::StatusOr<UpdateResult> summary =
        Push(job, worker, id, "w", gradient);
    ASSERT_OK(summary);
    EXPECT_EQ(summary->applied, attempt == 0 ? 2 : 0);
    EXPECT_EQ(summary->already_applied, attempt == 0 ? 0 : 2);
  }
  const absl::StatusOr<std::vector<float>> values = job.Read("w");
  ASSERT_OK(values);
  for (size_t i = 0; i < gradient.size(); ++i) {
    EXPECT_EQ((*values)[i], -gradient[i]);
  }
}

TEST(DenseTest, APullOfNothingNewWritesNothing) {
  ParameterJob job({.servers = 2});
  ASSERT_OK(job.Create({Spec("w", {4})}, FixedShards(2)));
  ParameterClient& client = job.chief();
  std::vector<float> values(4, 7);
  ShardVersions have;
  PullItem item;
  item.variable = job.Id("w");
  item.into = BytesOf(values);
  item.have = &have;
  ASSERT_OK(job.Run(client, client.Pull(std::span(&item, 1))));
  EXPECT_EQ(values, std::vector<float>(4, 0));
  EXPECT_EQ(have.generation, 1u);
  EXPECT_EQ(have.versions, (std::vector<uint64_t>{1, 1}));
  values.assign(4, 7);
  ASSERT_OK(job.Run(client, client.Pull(std::span(&item, 1))));
  EXPECT_EQ(values, std::vector<float>(4, 7));
  EXPECT_EQ(have.versions, (std::vector<uint64_t>{1, 1}));
}

TEST(DenseTest, APullBringsTheShardsThatAreNewer) {
  ParameterJob job({.servers = 2});
  ASSERT_OK(job.Create({Spec("w", {4})}, FixedShards(2)));
  ParameterClient& client = job.chief();
  // Shard 1 alone gets an update.
  ASSERT_OK(testing::Scatter(job, client, job.NextStep(), "w", {3},
                             std::vector<float>{5}));
  std::vector<float> values(4, 7);
  ShardVersions have = {.generation = 1, .versions = {1, 1}};
  PullItem item;
  item.variable = job.Id("w");
  item.into = BytesOf(values);
  item.have = &have;
  ASSERT_OK(job.Run(client, client.Pull(std::span(&item, 1))));
  EXPECT_EQ(values, (std::vector<float>{7, 7, 0, -5}));
  EXPECT_EQ(have.versions, (std::vector<uint64_t>{1, 2}));
  // What is known of another generation is worth nothing.
  have.generation = 0;
  ASSERT_OK(job.Run(client, client.Pull(std::span(&item, 1))));
  EXPECT_EQ(values, (std::vector<float>{0, 0, 0, -5}));
}

TEST(DenseTest, ManyVariablesAreOneRequestForEachServer) {
  ParameterJob job({.servers = 3});
  std::vector<VariableSpec> specs;
  for (int i = 0; i < 20; ++i) {
    specs.push_back(Spec("v" + std::to_string(i), {6, 2}));
  }
  ASSERT_OK(job.Create(specs, FixedShards(3)));
  ParameterClient& client = job.chief();
  std::vector<std::vector<float>> gradients;
  std::vector<std::vector<float>> values(specs.size(), std::vector<float>(12));
  std::vector<DenseItem> pushes;
  std::vector<PullItem> pulls;
  for (size_t i = 0; i < specs.size(); ++i) {
    gradients.push_back(Counting(12, static_cast<float>(100 * i)));
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    pushes.push_back(Dense(job.Id(specs[i].name), gradients[i]));
    PullItem item;
    item.variable = job.Id(specs[i].name);
    item.into = BytesOf(values[i]);
    pulls.push_back(item);
  }
  std::vector<uint64_t> before;
  for (uint32_t s = 0; s < 3; ++s) before.push_back(job.Requests(s));
  ASSERT_OK(job.Run(
      client, client.Update(job.NextStep(), Operation::kGradient, pushes, {})));
  ASSERT_OK(job.Run(client, client.Pull(pulls)));
  for (uint32_t s = 0; s < 3; ++s) EXPECT_EQ(job.Requests(s), before[s] + 2);
  for (size_t i = 0; i < specs.size(); ++i) {
    for (size_t k = 0; k < 12; ++k) {
      EXPECT_EQ(values[i][k], -gradients[i][k]) << specs[i].name << " " << k;
    }
  }
}

TEST(DenseTest, AnUpdateBringsTheValuesAfterIt) {
  ParameterJob job({.servers = 2});
  ASSERT_OK(job.Create({Spec("w", {4}), Spec("b", {1})}, FixedShards(2)));
  ParameterClient& client = job.chief();
  const std::vector<float> ones(4, 1);
  const std::vector<float> two(1, 2);
  std::vector<float> w(4, 7);
  std::vector<float> b(1, 7);
  ShardVersions of_w;
  std::vector<DenseItem> items = {Dense(job.Id("w"), ones),
                                  Dense(job.Id("b"), two)};
  items[0].into = BytesOf(w);
  items[0].now = &of_w;
  items[1].into = BytesOf(b);
  const UpdateId id = job.NextStep();
  // Also if it was applied before: then those that there are now.
  for (int attempt = 0; attempt < 2; ++attempt) {
    std::fill(w.begin(), w.end(), 7);
    ASSERT_OK(
        job.Run(client, client.Update(id, Operation::kGradient, items, {})));
    EXPECT_EQ(w, std::vector<float>(4, -1));
    EXPECT_EQ(b, std::vector<float>(1, -2));
    EXPECT_EQ(of_w.versions, (std::vector<uint64_t>{2, 2}));
  }
  // So a pull has nothing to bring.
  std::fill(w.begin(), w.end(), 7);
  PullItem pull;
  pull.variable = job.Id("w");
  pull.into = BytesOf(w);
  pull.have = &of_w;
  ASSERT_OK(job.Run(client, client.Pull(std::span(&pull, 1))));
  EXPECT_EQ(w, std::vector<float>(4, 7));
}

TEST(DenseTest, ValuesAreWantedOfAllOrOfNone) {
  ParameterJob job({.servers = 1});
  ASSERT_OK(job.Create({Spec("w", {4}), Spec("b", {1})}, FixedShards(1)));
  ParameterClient& client = job.chief();
  const std::vector<float> ones(4, 1);
  const std::vector<float> two(1, 2);
  std::vector<float> w(3, 7);
  std::vector<DenseItem> items = {Dense(job.Id("w"), ones),
                                  Dense(job.Id("b"), two)};
  items[0].into = BytesOf(w);
  EXPECT_THAT(job.Run(client, client.Update(job.NextStep(),
                                            Operation::kGradient, items, {})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("of some variables, and of others not")));
  // Nor into memory of another size.
  items.pop_back();
  EXPECT_THAT(job.Run(client, client.Update(job.NextStep(),
                                            Operation::kGradient, items, {})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("16 bytes are needed, and 12 were given")));
  EXPECT_THAT(job.Read("w"), IsOkAndHolds(std::vector<float>(4, 0)));
}

TEST(DenseTest, GradientsMayHaveSixteenBits) {
  ParameterJob job({.servers = 2});
  ASSERT_OK(job.Create({Spec("w", {3})}, FixedShards(2)));
  ParameterClient& client = job.chief();
  const std::vector<Float16> half = {Float16(1), Float16(0.5f), Float16(-2)};
  ASSERT_OK(Push(job, client, job.NextStep(), "w", half));
  EXPECT_THAT(job.Read("w"), IsOkAndHolds(std::vector<float>{-1, -0.5f, 2}));
  const std::vector<BFloat16> brain = {BFloat16(4), BFloat16(-0.5f),
                                       BFloat16(256)};
  ASSERT_OK(Push(job, client, job.NextStep(), "w", brain));
  EXPECT_THAT(job.Read("w"), IsOkAndHolds(std::vector<float>{-5, 0, -254}));
}

template <typename T>
class DenseTypesTest : public ::testing::Test {};
using Types = ::testing::Types<float, double, int32_t, int64_t, uint8_t>;
TYPED_TEST_SUITE(DenseTypesTest, Types);

TYPED_TEST(DenseTypesTest, AllOperationsOnShards) {
  using T = TypeParam;
  ParameterJob job({.servers = 3});
  ASSERT_OK(job.Create({Plain("v", {5, 2}, DTypeOf<T>())}, FixedShards(3)));
  ParameterClient& client = job.chief();
  std::vector<T> model(10);
  const auto apply = [&](Operation operation, T base, auto function) {
    std::vector<T> values(10);
    for (size_t i = 0; i < 10; ++i) {
      values[i] = static_cast<T>(base + static_cast<T>(i % 3));
      model[i] = static_cast<T>(function(model[i], values[i]));
    }
    ASSERT_OK(Push(job, client, job.NextStep(), "v", values, operation));
    EXPECT_THAT(ReadAs<T>(job, client, "v"), IsOkAndHolds(model))
        << OperationName(operation);
  };
  apply(Operation::kSet, T{50}, [](T, T b) { return b; });
  apply(Operation::kAdd, T{7}, [](T a, T b) { return a + b; });
  apply(Operation::kSub, T{5}, [](T a, T b) { return a - b; });
  apply(Operation::kMul, T{2}, [](T a, T b) { return a * b; });
  apply(Operation::kDiv, T{3}, [](T a, T b) { return a / b; });
  apply(Operation::kMin, T{30}, [](T a, T b) { return a < b ? a : b; });
  apply(Operation::kMax, T{31}, [](T a, T b) { return a < b ? b : a; });
}

TEST(DenseTest, ScalarsAndVariablesWithoutRows) {
  ParameterJob job({.servers = 2});
  ASSERT_OK(
      job.Create({Spec("scalar", {}), Spec("empty", {0, 3})}, FixedShards(2)));
  ParameterClient& client = job.chief();
  ASSERT_OK(Push(job, client, job.NextStep(), "scalar", std::vector<float>{2}));
  EXPECT_THAT(job.Read("scalar"), IsOkAndHolds(std::vector<float>{-2}));
  ASSERT_OK(Push(job, client, job.NextStep(), "empty", std::vector<float>{}));
  EXPECT_THAT(job.Read("empty"), IsOkAndHolds(std::vector<float>{}));
}

TEST(DenseTest, RowsAndSlotsAreReadByRange) {
  ParameterJob job({.servers = 3});
  VariableSpec spec = Spec("w", {10, 2});
  spec.optimizer = Momentum{.learning_rate = 1.0, .momentum = 0.5};
  ASSERT_OK(job.Create({spec}, FixedShards(3)));
  ParameterClient& client = job.chief();
  const std::vector<float> gradient = Counting(20);
  ASSERT_OK(Push(job, client, job.NextStep(), "w", gradient));
  for (int64_t begin = 0; begin <= 10; ++begin) {
    for (int64_t end = begin; end <= 10; ++end) {
      const auto size = static_cast<size_t>(2 * (end - begin));
      std::vector<float> values(size);
      std::vector<float> slots(size);
      ASSERT_OK(job.Run(
          client, client.ReadRows(job.Id("w"), begin, end, BytesOf(values))));
      ASSERT_OK(job.Run(
          client, client.ReadRows(job.Id("w"), begin, end, BytesOf(slots), 1)));
      for (size_t i = 0; i < size; ++i) {
        const float g = gradient[static_cast<size_t>(2 * begin) + i];
        EXPECT_EQ(values[i], -g);
        EXPECT_EQ(std::abs(slots[i]), g);
      }
    }
  }
  std::vector<float> values(2);
  EXPECT_THAT(
      job.Run(client, client.ReadRows(job.Id("w"), 10, 11, BytesOf(values))),
      testing::StatusIs(absl::StatusCode::kOutOfRange,
                        ::testing::HasSubstr("'w' has 10 rows")));
  EXPECT_THAT(
      job.Run(client, client.ReadRows(job.Id("w"), 0, 1, BytesOf(values), 2)),
      testing::StatusIs(absl::StatusCode::kOutOfRange,
                        ::testing::HasSubstr("slots")));
}

}  // namespace
}  // namespace capstan

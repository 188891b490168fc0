// What variables begin with, however they are cut.
#include <gtest/gtest.h>

#include <vector>

#include "parameters/helpers.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::ParameterJob;
using testing::Push;
using testing::Scatter;
using testing::Spec;
using testing::StatusIs;

TEST(InitialValuesTest, DoNotDependOnTheShards) {
  const std::vector<Initializer> initializers = {
      Zeros{},
      Ones{},
      Constant{.value = 2.5},
      Uniform{.min = -1, .max = 1, .seed = 7},
      Normal{.seed = 7},
      TruncatedNormal{.seed = 7},
      GlorotUniform{.seed = 7},
      GlorotNormal{.seed = 7},
      HeUniform{.seed = 7},
      HeNormal{}};
  std::vector<VariableSpec> specs;
  for (size_t i = 0; i < initializers.size(); ++i) {
    specs.push_back(Spec("v" + std::to_string(i), {103, 5}));
    specs.back().initializer = initializers[i];
  }
  ParameterJob one;
  ParameterJob four({.servers = 4});
  ASSERT_OK(one.Create(specs, FixedShards(1)));
  ASSERT_OK(four.Create(specs, FixedShards(4)));
  for (const VariableSpec& spec : specs) {
    ASSERT_EQ(four.map().Find(spec.name)->shards.size(), 4u);
    EXPECT_EQ(one.Read(spec.name).value(), four.Read(spec.name).value())
        << spec.name;
  }
  // The random ones are of a kind that changes.
  const std::vector<float> uniform = four.Read("v3").value();
  EXPECT_NE(uniform[0], uniform[1]);
}

// A shard of several MiB is filled in pieces.
TEST(InitialValuesTest, LargeShardsAreFilledWhole) {
  VariableSpec spec = Spec("w", {700'001, 2});
  spec.initializer = Uniform{.min = 1, .max = 2, .seed = 1};
  ParameterJob one;
  ParameterJob three({.servers = 3});
  ASSERT_OK(one.Create({spec}, FixedShards(1)));
  ASSERT_OK(three.Create({spec}, FixedShards(3)));
  const std::vector<float> values = one.Read("w").value();
  EXPECT_EQ(values, three.Read("w").value());
  for (const float value : values) ASSERT_TRUE(value >= 1 && value <= 2);
}

TEST(InitialValuesTest, AnOrthogonalMatrixIsInOnePiece) {
  VariableSpec spec = Spec("w", {6, 4});
  spec.initializer = Orthogonal{.seed = 1};
  ParameterJob job({.servers = 2});
  ASSERT_OK(job.Create({spec}, FixedShards(2)));
  ASSERT_EQ(job.map().Find("w")->shards.size(), 1u);
  const std::vector<float> values = job.Read("w").value();
  float dot = 0;
  for (size_t row = 0; row < 6; ++row) {
    dot += values[4 * row] * values[4 * row + 1];
  }
  EXPECT_NEAR(dot, 0, 1e-5);
}

TEST(InitialValuesTest, WithoutOneItMustBeAssignedFirst) {
  VariableSpec spec = Spec("w", {4});
  spec.initializer = Unset{};
  ParameterJob job({.servers = 2});
  ASSERT_OK(job.Create({spec}, FixedShards(2)));
  const auto unset =
      StatusIs(absl::StatusCode::kFailedPrecondition,
               HasSubstr("has no values yet: it was created without an "
                         "initializer"));
  const std::vector<float> four(4, 1);
  ParameterClient& client = job.chief();
  EXPECT_THAT(job.Read("w"), unset);
  EXPECT_THAT(testing::GatherRows(job, client, "w", {0}), unset);
  std::vector<float> row(1);
  EXPECT_THAT(job.Run(client, client.ReadRows(job.Id("w"), 0, 1,
                                              testing::BytesOf(row))),
              unset);
  EXPECT_THAT(Push(job, client, job.NextStep(), "w", four), unset);
  EXPECT_THAT(Push(job, client, job.NextStep(), "w", four, Operation::kAdd),
              unset);
  EXPECT_THAT(Scatter(job, client, job.NextStep(), "w", {0},
                      std::vector<float>{1}, Operation::kSet),
              unset);
  ASSERT_OK(Push(job, client, job.NextStep(), "w", four, Operation::kSet));
  EXPECT_THAT(job.Read("w"), IsOkAndHolds(four));
  ASSERT_OK(Push(job, client, job.NextStep(), "w", four));
  EXPECT_THAT(job.Read("w"), IsOkAndHolds(std::vector<float>(4, 0)));
}

}  // namespace
}  // namespace capstan

#include "coordinator/checkpoint/match_variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::StatusIs;

TEST(IsLikeTest, AStarStandsForAnyText) {
  EXPECT_TRUE(IsLike("a/b", "a/b"));
  EXPECT_FALSE(IsLike("a/b", "a"));
  EXPECT_FALSE(IsLike("a", "a/b"));
  EXPECT_TRUE(IsLike("a/b", "*"));
  EXPECT_TRUE(IsLike("", "*"));
  EXPECT_TRUE(IsLike("", ""));
  EXPECT_FALSE(IsLike("a", ""));
  EXPECT_TRUE(IsLike("a/b", "a/*"));
  EXPECT_TRUE(IsLike("a/", "a/*"));
  EXPECT_FALSE(IsLike("b/a/", "a/*"));
  EXPECT_TRUE(IsLike("layer/1/w", "*/w"));
  EXPECT_FALSE(IsLike("layer/1/wx", "*/w"));
  EXPECT_TRUE(IsLike("layer/1/w", "l*/*/w*"));
  EXPECT_TRUE(IsLike("aaab", "*a*ab"));
  EXPECT_FALSE(IsLike("ab", "a*ab"));
}

ShardMap MapOf(const std::vector<VariableSpec>& specs) {
  const absl::StatusOr<ShardMap> empty =
      ShardMap::Make(1, 0, 1, std::vector<VariableEntry>());
  EXPECT_OK(empty);
  const absl::StatusOr<ShardMap> map =
      AddVariables(*empty, specs, FixedShards(1));
  EXPECT_OK(map);
  return *map;
}

class MatchVariablesTest : public ::testing::Test {
 protected:
  const ShardMap map_ =
      MapOf({{.name = "b/w", .shape = {2}},
             {.name = "a/w", .shape = {2}},
             {.name = "a/n", .shape = {}, .dtype = DType::kI64}});
  const FileTensor bw_ = {"b/w", DType::kF32, {2}};
  const FileTensor aw_ = {"a/w", DType::kF32, {2}};
  const FileTensor an_ = {"a/n", DType::kI64, {}};
};

TEST_F(MatchVariablesTest, ByName) {
  const auto matches = MatchVariables(
      {an_, {"z", DType::kF32, {}}, {"y", DType::kF32, {}}, bw_, aw_}, map_,
      {});
  ASSERT_OK(matches);
  ASSERT_EQ(matches->pairs.size(), 3u);
  const std::map<std::string, size_t> offered = {
      {"a/n", 0}, {"b/w", 3}, {"a/w", 4}};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(matches->pairs[i].entry, &map_.entries()[i]);
    EXPECT_EQ(matches->pairs[i].offered,
              offered.at(map_.entries()[i].spec.name));
  }
  EXPECT_THAT(matches->report.restored, ElementsAre("a/n", "a/w", "b/w"));
  EXPECT_THAT(matches->report.unexpected, ElementsAre("y", "z"));
  EXPECT_THAT(matches->report.missing, IsEmpty());
}

TEST_F(MatchVariablesTest, MissingOnes) {
  EXPECT_THAT(
      MatchVariables({aw_, {"x\n", DType::kF32, {}}}, map_, {.source = "file"}),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("the file has no variable 'a/n', 'b/w' (but "
                               "'x\\n')"),
                     HasSubstr("allow_missing"))));
  const auto matches = MatchVariables({aw_}, map_, {.allow_missing = true});
  ASSERT_OK(matches);
  EXPECT_THAT(matches->report.missing, ElementsAre("a/n", "b/w"));
}

TEST_F(MatchVariablesTest, PatternsPrefixAndNames) {
  const auto restored = [&](const MatchRules& rules) {
    const auto matches = MatchVariables({aw_, an_, bw_}, map_, rules);
    EXPECT_OK(matches);
    return matches->report.restored;
  };
  EXPECT_THAT(restored({.only = {"*/w"}}), ElementsAre("a/w", "b/w"));
  EXPECT_THAT(restored({.prefix = "a/"}), ElementsAre("a/n", "a/w"));
  const std::set<std::string> names = {"a/n", "b/w"};
  EXPECT_THAT(restored({.names = &names}), ElementsAre("a/n", "b/w"));
  EXPECT_THAT(restored({.only = {"*/w"}, .prefix = "a/", .names = &names}),
              IsEmpty());
}

TEST_F(MatchVariablesTest, OthersAreNamedWithBothTypes) {
  FileTensor wide = bw_;
  wide.dtype = DType::kF64;
  FileTensor narrow = an_;
  narrow.dtype = DType::kI32;
  FileTensor longer = aw_;
  longer.shape = {3};
  EXPECT_THAT(
      MatchVariables({wide, narrow, longer}, map_,
                     {.source = "file", .allow_missing = true}),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("'b/w' is f64[2] in the file and f32[2] in the "
                               "job"),
                     HasSubstr("'a/n' is i32[] in the file and i64[]"),
                     HasSubstr("'a/w' is f32[3] in the file and f32[2]"))));
  const MatchRules convert = {.source = "file", .convert_floats = true};
  EXPECT_THAT(MatchVariables({wide, narrow, aw_}, map_, convert),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("'a/n'"), Not(HasSubstr("'b/w'")))));
  EXPECT_OK(MatchVariables({wide, an_, aw_}, map_, convert));
}

}  // namespace
}  // namespace capstan

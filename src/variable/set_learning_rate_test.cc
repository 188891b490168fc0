#include <gtest/gtest.h>

#include <limits>

#include "testing/status_matchers.h"
#include "variable/shard_map.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

VariableEntry Entry(uint32_t id, std::string name,
                    std::optional<Optimizer> optimizer) {
  return {.id = id,
          .spec = {.name = std::move(name),
                   .shape = {4},
                   .optimizer = std::move(optimizer)},
          .shards = {{0, 4, 0}}};
}

ShardMap Map() {
  return ShardMap::Make(7, 3, 1,
                        {Entry(1, "a", Adam{.learning_rate = 0.1}),
                         Entry(2, "b", Sgd{.learning_rate = 0.1}),
                         Entry(3, "c", std::nullopt)})
      .value();
}

double RateOf(const ShardMap& map, const std::string& name) {
  return std::visit(
      [](const auto& rule) { return std::get<double>(rule.learning_rate); },
      map.Find(name)->spec.optimizer->rule);
}

TEST(SetLearningRateTest, ChangesThoseThatAreNamed) {
  const std::vector<std::string> names = {"a"};
  const ShardMap map = SetLearningRate(Map(), names, 0.5).value();
  EXPECT_EQ(map.generation(), 7u);
  EXPECT_EQ(map.version(), 4u);
  EXPECT_EQ(map.next_id(), 4u);
  EXPECT_EQ(RateOf(map, "a"), 0.5);
  EXPECT_EQ(RateOf(map, "b"), 0.1);
  EXPECT_TRUE(
      std::holds_alternative<Adam>(map.Find("a")->spec.optimizer->rule));
}

TEST(SetLearningRateTest, NamesWhatIsWrong) {
  const auto set = [](const std::string& name, double rate) {
    return SetLearningRate(Map(), std::vector{name}, rate).status();
  };
  EXPECT_THAT(set("d", 0.5),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("d")));
  EXPECT_THAT(set("c", 0.5), StatusIs(absl::StatusCode::kFailedPrecondition,
                                      HasSubstr("no optimizer")));
  EXPECT_THAT(
      set("a", std::numeric_limits<double>::quiet_NaN()),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("learning_rate")));
}

}  // namespace
}  // namespace capstan

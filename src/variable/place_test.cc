#include "variable/place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace capstan {
namespace {

using ::testing::ElementsAre;

std::vector<ShardServers> PlaceOn(uint32_t servers,
                                  const std::vector<ShardBytes>& variables) {
  return Place(variables, std::vector<uint64_t>(servers));
}

TEST(PlaceTest, EqualVariablesGoAround) {
  EXPECT_THAT(PlaceOn(3, {{8}, {8}, {8}, {8}}),
              ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2),
                          ElementsAre(0)));
}

TEST(PlaceTest, TheLargestGoesFirst) {
  EXPECT_THAT(PlaceOn(2, {{1}, {2}, {10}, {7}}),
              ElementsAre(ElementsAre(1), ElementsAre(1), ElementsAre(0),
                          ElementsAre(1)));
}

TEST(PlaceTest, ShardsOfAVariableAreApart) {
  EXPECT_THAT(PlaceOn(3, {{5, 5, 4}}), ElementsAre(ElementsAre(0, 1, 2)));
  // Even if another server has less: 0 already has 100 but gets one all the
  // same.
  EXPECT_THAT(Place(std::vector<ShardBytes>{{5, 5, 5}}, {100, 0, 0}),
              ElementsAre(ElementsAre(1, 2, 0)));
  // More shards than servers: as evenly as possible.
  EXPECT_THAT(PlaceOn(2, {{5, 5, 5, 5, 5}}),
              ElementsAre(ElementsAre(0, 1, 0, 1, 0)));
}

TEST(PlaceTest, WhatIsThereCounts) {
  EXPECT_THAT(Place(std::vector<ShardBytes>{{10}, {10}}, {25, 0, 12}),
              ElementsAre(ElementsAre(1), ElementsAre(1)));
}

TEST(PlaceTest, HugeSizesDoNotWrap) {
  const uint64_t huge = UINT64_MAX - 1;
  EXPECT_THAT(PlaceOn(2, {{huge}, {huge}, {huge}, {1}}),
              ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(0),
                          ElementsAre(1)));
}

RC_GTEST_PROP(PlaceProperty, ServersDifferByOneShardAtMost, ()) {
  const auto servers = *rc::gen::inRange<uint32_t>(1, 20);
  const auto variables =
      *rc::gen::container<std::vector<ShardBytes>>(rc::gen::nonEmpty(
          rc::gen::container<ShardBytes>(rc::gen::inRange<uint64_t>(0, 1000))));
  const auto places = PlaceOn(servers, variables);

  std::vector<uint64_t> load(servers);
  uint64_t largest = 0;
  for (size_t v = 0; v < variables.size(); ++v) {
    std::vector<size_t> count(servers);
    RC_ASSERT(places[v].size() == variables[v].size());
    for (size_t s = 0; s < places[v].size(); ++s) {
      RC_ASSERT(places[v][s] < servers);
      ++count[places[v][s]];
      load[places[v][s]] += variables[v][s];
      largest = std::max(largest, variables[v][s]);
    }
    const auto [least, most] = std::minmax_element(count.begin(), count.end());
    RC_ASSERT(*most - *least <= 1u);
  }
  const auto [least, most] = std::minmax_element(load.begin(), load.end());
  RC_ASSERT(*most - *least <= largest);
  // Graham's bound.
  const uint64_t total = std::accumulate(load.begin(), load.end(), uint64_t{0});
  RC_ASSERT(*most * servers <= total + largest * (servers - 1));
}

}  // namespace
}  // namespace capstan

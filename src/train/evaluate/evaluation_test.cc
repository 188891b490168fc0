#include "train/evaluate/evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "capstan/error.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;

TEST(EvaluationTest, PiecesAreAllOfItInOrder) {
  for (const std::int64_t elements : {1, 2, 63, 64, 65, 1000}) {
    EvaluationPlan plan;
    plan.begin = 10;
    plan.end = 10 + elements;
    plan.shards = PiecesOf(elements, std::nullopt);
    std::int64_t at = plan.begin;
    for (std::int64_t i = 0; i < plan.shards; ++i) {
      const DataRange piece = PieceOf(plan, i);
      EXPECT_EQ(piece.begin, at);
      EXPECT_GT(piece.size(), 0);
      EXPECT_EQ(piece.epoch, 0u);
      at = piece.end;
    }
    EXPECT_EQ(at, plan.end);
  }
}

TEST(EvaluationTest, DataOfAKnownSizeIsCutWithoutRegardToWorkers) {
  const DataCount count{.size = 1000};
  for (const int workers : {1, 5, 1000}) {
    const EvaluationPlan plan =
        PlanEvaluation(count, std::nullopt, std::nullopt, workers);
    EXPECT_TRUE(plan.by_number);
    EXPECT_EQ(plan.end, 1000);
    EXPECT_EQ(plan.shards, 64);
  }
  EXPECT_EQ(PlanEvaluation(count, 30, std::nullopt, 2).end, 30);
  EXPECT_EQ(PlanEvaluation(count, 30, std::nullopt, 2).shards, 30);
  EXPECT_EQ(PlanEvaluation(count, 2000, 7, 2).end, 1000);
  EXPECT_EQ(PlanEvaluation(count, 2000, 7, 2).shards, 7);
}

TEST(EvaluationTest, OtherDataIsReadByEachWorker) {
  const DataCount count{.size = std::nullopt, .obstacle = "a filter"};
  const EvaluationPlan plan =
      PlanEvaluation(count, std::nullopt, std::nullopt, 3);
  EXPECT_FALSE(plan.by_number);
  EXPECT_EQ(plan.end, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(plan.shards, 3);
  EXPECT_EQ(PlanEvaluation(count, 2, std::nullopt, 3).shards, 2);
  EXPECT_EQ(PlanEvaluation(count, std::nullopt, std::nullopt, 0).shards, 1);
}

TEST(EvaluationTest, WhatMakesNoSenseIsRefused) {
  const auto refused = [](const DataCount& count,
                          std::optional<std::int64_t> steps,
                          std::optional<int> shards, const char* why) {
    EXPECT_THAT([&] { PlanEvaluation(count, steps, shards, 1); },
                ThrowsMessage<Error>(HasSubstr(why)));
  };
  refused({.size = 5}, 0, std::nullopt, "steps must be at least 1");
  refused({.size = 5}, 1, 0, "shards must be 1 to");
  refused({.size = std::nullopt, .infinite = true}, std::nullopt, std::nullopt,
          "no end");
}

}  // namespace
}  // namespace capstan

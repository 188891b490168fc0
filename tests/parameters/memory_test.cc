// The limit to a server's memory for variables.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "parameters/helpers.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::kLarge;
using testing::ParameterJob;
using testing::Plain;
using testing::Push;
using testing::Spec;
using testing::StatusIs;

TEST(MemoryTest, TooMuchIsRefusedAndNothingIsCreated) {
  ParameterJob job({.servers = 2, .memory_limit = 10'000});
  EXPECT_THAT(
      job.Create({Plain("fits", {100}), Plain("large", {10'000})},
                 FixedShards(2)),
      StatusIs(absl::StatusCode::kResourceExhausted,
               AllOf(HasSubstr("variable 'large', shard"),
                     HasSubstr("20000 bytes are needed, and of the limit of "
                               "10000"),
                     HasSubstr("--memory"))));
  for (uint32_t server = 0; server < 2; ++server) {
    EXPECT_TRUE(job.Status(server).variables.empty());
    EXPECT_EQ(job.Status(server).bytes_used, 0u);
    EXPECT_EQ(job.Status(server).bytes_limit, 10'000u);
  }
  ASSERT_OK(job.Create({Plain("fits", {100})}, FixedShards(2)));
  EXPECT_THAT(job.Read("fits"), IsOkAndHolds(std::vector<float>(100)));
  EXPECT_EQ(job.Status(0).bytes_used, 200u);
}

// One server has room, the other has not.
TEST(MemoryTest, WhatOneServerCannotHoldNobodyHolds) {
  ParameterJob job({.servers = 2, .memory_limit = 10'000});
  // The first of each pair of servers gets more.
  ASSERT_OK(job.Create({Plain("a", {1500})}, FixedShards(1)));
  ASSERT_OK(job.Create({Plain("b", {1000})}, FixedShards(1)));
  EXPECT_THAT(job.Create({Plain("c", {2400})}, FixedShards(2)),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("variable 'c'")));
  EXPECT_EQ(job.Status(0).bytes_used + job.Status(1).bytes_used, 10'000u);
  // A smaller one with the shards that were made for the other.
  ASSERT_OK(job.Create({Plain("c", {400})}, FixedShards(2)));
  EXPECT_THAT(job.Read("c"), IsOkAndHolds(std::vector<float>(400)));
  EXPECT_THAT(job.Read("a"), IsOkAndHolds(std::vector<float>(1500)));
}

TEST(MemoryTest, SlotsCount) {
  ParameterJob job({.memory_limit = 10'000});
  VariableSpec spec = Spec("w", {1000});
  spec.optimizer = Adam{};
  EXPECT_THAT(job.Create({spec}),
              StatusIs(absl::StatusCode::kResourceExhausted));
  spec.optimizer = Momentum{};
  ASSERT_OK(job.Create({spec}));
  EXPECT_EQ(job.Status(0).bytes_used, 8000u);
  EXPECT_EQ(job.Report("w").bytes, 8000u);
}

TEST(MemoryTest, DroppingGivesItBack) {
  ParameterJob job({.memory_limit = 10'000});
  for (int i = 0; i < 5; ++i) {
    ASSERT_OK(job.Create({Spec("w", {2000})}));
    ASSERT_OK(Push(job, job.chief(), job.NextStep(), "w",
                   std::vector<float>(2000, 1)));
    // With the record of the update.
    EXPECT_EQ(job.Status(0).bytes_used, 8000u + 256);
    EXPECT_THAT(job.Create({Plain("more", {1000})}),
                StatusIs(absl::StatusCode::kResourceExhausted));
    ASSERT_OK(job.Drop({"w"}));
    EXPECT_EQ(job.Status(0).bytes_used, 0u);
  }
}

// So that it cannot grow unseen; and it goes with the watermark.
TEST(MemoryTest, TheRecordOfUpdatesCounts) {
  ParameterJob job;
  ASSERT_OK(job.Create({Spec("w", {4}), Spec("idle", {4})}));
  UpdateId id;
  const std::vector<float> ones(4, 1);
  ASSERT_OK(Push(job, job.chief(), job.NextStep(), "idle", ones));
  for (int i = 0; i < 500; ++i) {
    id = job.NextStep();
    ASSERT_OK(Push(job, job.chief(), id, "w", ones));
  }
  EXPECT_GE(job.Status(0).bytes_used, 32u + 500 * 16);
  const uint64_t all = id.step;
  const auto finish = [&](uint64_t watermark) {
    return job.Run(job.chief(),
                   job.chief().SetWatermark(
                       {.fence = job.fence(), .watermark = watermark}));
  };
  ASSERT_OK(finish(all - 10));
  EXPECT_EQ(job.Status(0).bytes_used, 32u + 10 * 16);
  // None of them is applied twice for that.
  EXPECT_EQ(Push(job, job.chief(), id, "w", ones)->already_applied, 1u);
  id.step = all - 10;
  EXPECT_EQ(Push(job, job.chief(), id, "w", ones)->already_applied, 1u);
  ASSERT_OK(finish(all));
  EXPECT_EQ(job.Status(0).bytes_used, 32u);
  EXPECT_EQ(job.Read("w")->front(), -500);
}

TEST(MemoryTest, ANewGenerationNeedsNoMoreThanTheOld) {
  ParameterJob job({.memory_limit = 10'000});
  ASSERT_OK(job.Create({Spec("w", {2000})}));
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK(job.NextGeneration());
    EXPECT_EQ(job.Status(0).bytes_used, 8000u);
  }
}

// The memory of earlier versions is kept for later ones, but not at the cost
// of a new variable.
TEST(MemoryTest, SparesMakeRoomForNewVariables) {
  ParameterJob job({.memory_limit = 20 << 20});
  ASSERT_OK(job.Create({Spec("w", {kLarge})}));
  ASSERT_OK(Push(job, job.chief(), job.NextStep(), "w",
                 std::vector<float>(kLarge, 1)));
  EXPECT_OK(job.Create({Plain("more", {kLarge})}));
  ASSERT_OK(Push(job, job.chief(), job.NextStep(), "w",
                 std::vector<float>(kLarge, 1)));
  EXPECT_EQ(job.Read("w")->front(), -2);
}

TEST(MemoryTest, AFullServerStillTrains) {
  ParameterJob job({.memory_limit = 8 << 20});
  ASSERT_OK(job.Create({Spec("w", {kLarge})}));
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK(Push(job, job.chief(), job.NextStep(), "w",
                   std::vector<float>(kLarge, 1)));
  }
  EXPECT_EQ(job.Read("w")->back(), -3);
}

TEST(MemoryTest, AnswersAreBounded) {
  ParameterJob job({.answer_limit = 1 << 20});
  VariableSpec spec;
  spec.name = "wide";
  spec.shape = {64, 16 << 10};  // rows of 64 KiB
  ASSERT_THAT(job.Create({spec}), testing::IsOk());
  std::vector<int64_t> ids(64);
  std::iota(ids.begin(), ids.end(), 0);
  std::vector<std::byte> rows(64 * (64 << 10));
  GatherItem item;
  item.variable = job.Id("wide");
  item.ids = ids;
  item.into = rows;
  const auto gather = [&] {
    return job.Run(job.chief(), job.chief().Gather(std::span(&item, 1)));
  };
  EXPECT_THAT(gather(),
              testing::StatusIs(absl::StatusCode::kResourceExhausted,
                                ::testing::HasSubstr("ask for fewer rows")));
  item.ids = std::span(ids).first(16);
  item.into = std::span(rows).first(16 * (64 << 10));
  // What one had is there for the next.
  for (int i = 0; i < 5; ++i) EXPECT_THAT(gather(), testing::IsOk());
}

}  // namespace
}  // namespace capstan

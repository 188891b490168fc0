#include "simulate/digits/digit_ledger.h"

#include <gtest/gtest.h>

namespace capstan::simulate {
namespace {

constexpr MonotonicTime kStart{};

DigitOptions OptionsOf(DigitMode mode) {
  DigitOptions options;
  options.mode = mode;
  options.again = 0;
  options.replicas = 2;
  options.updates = 40;
  return options;
}

// A ledger in its first generation.
struct Started {
  explicit Started(const DigitOptions& options_in, Plant plant = Plant::kNone)
      : options(options_in), ledger(options, plant, Random(1)) {
    ledger.StartGeneration({.generation = 1, .term = 1});
    ledger.set_paused(false);
  }
  Assignment Take(MonotonicTime now = kStart) {
    return ledger.Take(now).value_or(Assignment());
  }

  const DigitOptions options;
  DigitLedger ledger;
};

TEST(DigitLedgerTest, WatermarkWaitsForTheFirstOpenStep) {
  Started job(OptionsOf(DigitMode::kAsync));
  const Assignment first = job.Take();
  const Assignment second = job.Take();
  job.ledger.Done(second);
  EXPECT_EQ(job.ledger.Watermark(), 0u);
  job.ledger.Done(first);
  EXPECT_EQ(job.ledger.Watermark(), 2u);
  EXPECT_TRUE(job.ledger.AllOver());
}

TEST(DigitLedgerTest, PlantedWatermarkDoesNot) {
  Started job(OptionsOf(DigitMode::kAsync), Plant::kEarlyWatermark);
  job.Take();
  job.ledger.Done(job.Take());
  EXPECT_EQ(job.ledger.Watermark(), 2u);
}

TEST(DigitLedgerTest, StepOfALateWorkerIsGivenOutAgain) {
  Started job(OptionsOf(DigitMode::kAsync));
  const Assignment first = job.Take();
  const MonotonicTime late = kStart + job.options.lease;
  EXPECT_NE(job.Take(late - Duration(1)).step, first.step);
  EXPECT_EQ(job.Take(late), first);
  EXPECT_EQ(job.ledger.repeats(), 1u);
}

TEST(DigitLedgerTest, GenerationsHaveSlotsOfTheirOwn) {
  Started job(OptionsOf(DigitMode::kAsync));
  const Assignment old = job.Take();
  job.ledger.StartGeneration({.generation = 2, .term = 1});
  const Assignment first = job.Take();
  EXPECT_EQ(first.step, old.step);
  EXPECT_GT(first.first_slot, old.first_slot);
  // The outcome of the old step does not matter.
  job.ledger.Done(old);
  EXPECT_FALSE(job.ledger.AllOver());
}

TEST(DigitLedgerTest, RoundIsCommittedWithThoseWhoWereDone) {
  DigitOptions options = OptionsOf(DigitMode::kSync);
  options.backup = 1;
  Started job(options);
  const Assignment a = job.Take();
  job.Take();
  const Assignment c = job.Take();
  job.ledger.Done(c);
  EXPECT_FALSE(job.ledger.NextCommit());
  job.ledger.Done(a);
  const auto decision = job.ledger.NextCommit();
  ASSERT_TRUE(decision);
  EXPECT_EQ(decision->round, 1u);
  EXPECT_EQ(decision->replicas, (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(decision->slots, (std::vector<size_t>{a.first_slot, c.first_slot}));
  EXPECT_EQ(job.ledger.Watermark(), 0u);
  job.ledger.Committed(1);
  EXPECT_EQ(job.ledger.Watermark(), 3u);
}

TEST(DigitLedgerTest, ReplicaDoesOneClockAfterTheOther) {
  DigitOptions options = OptionsOf(DigitMode::kBounded);
  options.bound = 1;
  Started job(options);
  const Assignment slow = job.Take();
  for (uint64_t clock = 1; clock <= 3; ++clock) {
    const Assignment fast = job.Take();
    EXPECT_EQ(fast.round, clock);
    EXPECT_EQ(fast.replica, 1u);
    job.ledger.Done(fast);
  }
  // The fourth clock cannot be read before `slow` is done.
  EXPECT_FALSE(job.ledger.Take(kStart));
  job.ledger.Done(slow);
  EXPECT_EQ(job.Take().round, 2u);
}

}  // namespace
}  // namespace capstan::simulate

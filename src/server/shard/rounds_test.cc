#include "server/shard/rounds.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/async/io_thread.h"
#include "base/async/run_on.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

constexpr Rounds::Need Commit(uint64_t round) { return {.committed = round}; }
constexpr Rounds::Need Clock(uint64_t clock) { return {.clock = clock}; }

absl::Status Tick(Rounds& rounds, uint64_t clock,
                  std::vector<uint32_t> replicas) {
  return rounds.Tick(clock, replicas);
}

TEST(RoundsTest, NothingIsNeededInTheBeginning) {
  const Rounds rounds;
  EXPECT_TRUE(rounds.Met({}));
  EXPECT_FALSE(rounds.Met(Commit(1)));
  EXPECT_FALSE(rounds.Met(Clock(1)));
  EXPECT_EQ(rounds.committed(), 0u);
}

TEST(RoundsTest, WaitsThatHaveEndedAreForgotten) {
  IoThread thread;
  Rounds rounds;
  const std::shared_ptr<Signal> kept =
      rounds.WaitFor(Commit(1), thread.executor());
  for (int i = 0; i < 10'000; ++i) {
    rounds.WaitFor(Commit(1), thread.executor());
  }
  EXPECT_LT(rounds.num_waiting(), 200u);
  rounds.Commit(1);
  RunOn(thread.executor(), kept->Wait());  // it was not pruned
}

TEST(RoundsTest, AClockFarAheadIsRefused) {
  Rounds rounds;
  rounds.SetReplicas(1);
  EXPECT_THAT(Tick(rounds, (1 << 16) + 1, {0}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("replica 0 is done with clock 65537")));
  EXPECT_THAT(Tick(rounds, 1 << 16, {0}), testing::IsOk());
}

TEST(RoundsTest, CommitsOnlyGoForward) {
  Rounds rounds;
  rounds.Commit(3);
  EXPECT_TRUE(rounds.Met(Commit(3)));
  EXPECT_FALSE(rounds.Met(Commit(4)));
  rounds.Commit(2);
  EXPECT_EQ(rounds.committed(), 3u);
}

TEST(RoundsTest, AClockIsDoneWhenAllReplicasAre) {
  Rounds rounds;
  rounds.SetReplicas(3);
  EXPECT_OK(Tick(rounds, 1, {0, 1}));
  EXPECT_FALSE(rounds.Met(Clock(1)));
  EXPECT_OK(Tick(rounds, 1, {1}));
  EXPECT_FALSE(rounds.Met(Clock(1)));
  EXPECT_OK(Tick(rounds, 1, {2}));
  EXPECT_TRUE(rounds.Met(Clock(1)));
}

TEST(RoundsTest, ClocksMayBeDoneInAnyOrder) {
  Rounds rounds;
  rounds.SetReplicas(1);
  EXPECT_OK(Tick(rounds, 3, {0}));
  EXPECT_OK(Tick(rounds, 2, {0}));
  EXPECT_FALSE(rounds.Met(Clock(1)));
  EXPECT_OK(Tick(rounds, 1, {0}));
  EXPECT_TRUE(rounds.Met(Clock(3)));
  EXPECT_OK(Tick(rounds, 1, {0}));
  EXPECT_TRUE(rounds.Met(Clock(3)));
  EXPECT_FALSE(rounds.Met(Clock(4)));
}

TEST(RoundsTest, AnUnknownReplicaIsRefusedWhole) {
  Rounds rounds;
  rounds.SetReplicas(2);
  EXPECT_THAT(Tick(rounds, 1, {0, 1, 2}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("replica 2, but there are 2")));
  EXPECT_FALSE(rounds.Met(Clock(1)));
}

TEST(RoundsTest, ALaterReplicaHasNoPartInWhatWas) {
  Rounds rounds;
  rounds.SetReplicas(1);
  EXPECT_OK(Tick(rounds, 1, {0}));
  rounds.SetReplicas(2);
  EXPECT_TRUE(rounds.Met(Clock(1)));
  EXPECT_OK(Tick(rounds, 2, {0}));
  EXPECT_FALSE(rounds.Met(Clock(2)));
  EXPECT_OK(Tick(rounds, 2, {1}));
  EXPECT_TRUE(rounds.Met(Clock(2)));
  rounds.SetReplicas(1);  // never fewer
  EXPECT_OK(Tick(rounds, 3, {1}));
}

TEST(RoundsTest, TellsWhatIsMissing) {
  Rounds rounds;
  rounds.SetReplicas(3);
  EXPECT_OK(Tick(rounds, 1, {1}));
  EXPECT_EQ(rounds.Missing(Clock(1)),
            "replicas 0 (at 0), 2 (at 0) to be done with clock 1");
  EXPECT_OK(Tick(rounds, 1, {2}));
  EXPECT_EQ(rounds.Missing(Clock(1)),
            "replica 0 (at 0) to be done with clock 1");
  EXPECT_EQ(rounds.Missing(Commit(7)),
            "the coordinator to commit round 7; the last one committed is 0");
}

Task<> WaitUntilMet(Rounds& rounds, Rounds::Need need, Executor home) {
  while (true) {
    const std::shared_ptr<Signal> changed = rounds.WaitFor(need, home);
    if (changed == nullptr) co_return;
    co_await changed->Wait();
  }
}

TEST(RoundsTest, WakesWhoWaits) {
  Rounds rounds;
  rounds.SetReplicas(1);
  IoThreads threads(2);
  std::vector<std::future<void>> done;
  for (size_t i = 0; i < 20; ++i) {
    const Executor home = threads.executor(i);
    const Rounds::Need need = {.committed = i, .clock = 20 - i};
    done.push_back(StartOn(home, WaitUntilMet(rounds, need, home)));
  }
  for (uint64_t i = 1; i <= 20; ++i) {
    rounds.Commit(i);
    EXPECT_OK(Tick(rounds, i, {0}));
  }
  for (std::future<void>& one : done) one.get();
}

TEST(RoundsTest, WhatIsMetNeedsNoSignal) {
  Rounds rounds;
  IoThread thread;
  EXPECT_EQ(rounds.WaitFor({}, thread.executor()), nullptr);
  rounds.Commit(1);
  EXPECT_EQ(rounds.WaitFor(Commit(1), thread.executor()), nullptr);
}

Task<> WaitOnce(std::shared_ptr<Signal> signal) { co_await signal->Wait(); }

TEST(RoundsTest, ClosingWakesAll) {
  Rounds rounds;
  IoThread thread;
  const std::shared_ptr<Signal> signal =
      rounds.WaitFor(Commit(1), thread.executor());
  ASSERT_NE(signal, nullptr);
  std::future<void> done = StartOn(thread.executor(), WaitOnce(signal));
  rounds.Close();
  done.get();
}

}  // namespace
}  // namespace capstan

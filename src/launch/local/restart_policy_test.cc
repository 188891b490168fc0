#include "launch/local/restart_policy.h"

#include <gtest/gtest.h>

#include <chrono>
#include <climits>
#include <optional>
#include <vector>

#include "base/random.h"

namespace capstan {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

// The restart delays of a task that fails after running for each of `lives` in
// turn.
std::vector<Duration> Delays(const std::vector<Duration>& lives) {
  RestartPolicy policy(static_cast<int>(lives.size()));
  MonotonicTime now(hours(1));
  std::vector<Duration> delays;
  for (const Duration life : lives) {
    policy.OnStart(now);
    now += life;
    delays.push_back(*policy.OnFailure(now));
    now += delays.back();
  }
  return delays;
}

TEST(RestartPolicyTest, DelaysDoubleUpToALimit) {
  EXPECT_EQ(Delays(std::vector<Duration>(8, milliseconds(1))),
            (std::vector<Duration>{
                milliseconds(0), milliseconds(500), milliseconds(1'000),
                milliseconds(2'000), milliseconds(4'000), milliseconds(8'000),
                milliseconds(10'000), milliseconds(10'000)}));
}

TEST(RestartPolicyTest, AHealthyTaskStartsAtOnceAgain) {
  const Duration almost = RestartPolicy::kHealthy - milliseconds(1);
  EXPECT_EQ(Delays({almost, almost, almost, RestartPolicy::kHealthy, almost,
                    hours(24), almost}),
            (std::vector<Duration>{milliseconds(0), milliseconds(500),
                                   milliseconds(1'000), milliseconds(0),
                                   milliseconds(500), milliseconds(0),
                                   milliseconds(500)}));
}

// One of four workers is killed every 0.2 to 2.5 s, for half an hour.
TEST(RestartPolicyTest, WhoIsKilledAgainAndAgainStillRuns) {
  struct Worker {
    RestartPolicy policy = RestartPolicy(INT_MAX);
    MonotonicTime runs_from = {};
  };
  std::vector<Worker> workers(4);
  Random random(1);
  MonotonicTime now = {};
  int moments = 0;
  int all_run = 0;
  while (now < MonotonicTime(std::chrono::minutes(30))) {
    now += milliseconds(random.Between(200, 2'500));
    std::vector<Worker*> running;
    for (Worker& worker : workers) {
      if (worker.runs_from <= now) running.push_back(&worker);
    }
    ++moments;
    if (running.size() == workers.size()) ++all_run;
    if (running.empty()) continue;
    Worker& killed = *running[random.Below(running.size())];
    killed.policy.OnStart(killed.runs_from);
    killed.runs_from = now + *killed.policy.OnFailure(now);
  }
  EXPECT_GT(2 * all_run, moments);
}

TEST(RestartPolicyTest, TheTimeOfWaitingIsNoHealth) {
  RestartPolicy policy(3);
  MonotonicTime now(hours(1));
  policy.OnStart(now);
  EXPECT_EQ(policy.OnFailure(now), Duration::zero());
  // Its port was held by another process for a long time.
  now += hours(1);
  policy.OnStart(now);
  EXPECT_EQ(policy.RunTime(now), Duration::zero());
  EXPECT_EQ(policy.OnFailure(now), milliseconds(500));
}

TEST(RestartPolicyTest, RestartsEndHoweverHealthy) {
  RestartPolicy policy(2);
  MonotonicTime now(hours(1));
  for (int i = 1; i <= 2; ++i) {
    policy.OnStart(now);
    now += hours(1);
    EXPECT_NE(policy.OnFailure(now), std::nullopt);
    EXPECT_EQ(policy.restarts(), i);
  }
  policy.OnStart(now);
  EXPECT_EQ(policy.OnFailure(now + hours(1)), std::nullopt);
  EXPECT_EQ(policy.restarts(), 2);
  EXPECT_EQ(RestartPolicy(0).OnFailure(now), std::nullopt);
}

}  // namespace
}  // namespace capstan

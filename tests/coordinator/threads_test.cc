// One coordinator, used by many threads at once.
#include <atomic>
#include <deque>
#include <latch>
#include <thread>

#include "coordinator/helpers.h"

namespace capstan {
namespace {

using testing::AddTo;
using testing::ErrorOf;
using testing::Job;

constexpr int kThreads = 8;

// Calls `body` with 0, 1, ... on as many threads, which begin together.
void InThreads(const std::function<void(int)>& body) {
  std::latch start(kThreads);
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      body(i);
    });
  }
}

class ThreadsTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  const CoordinatorOptions options_ = testing::WithCapacity(GetParam());
};

INSTANTIATE_TEST_SUITE_P(, ThreadsTest,
                         ::testing::Values(testing::kWide, testing::kNarrow),
                         testing::CapacityName);

// Behaviour 10, and the gap "concurrent schedule from many threads".
TEST_P(ThreadsTest, ScheduleAndJoinAtOnceAndLoseNothing) {
  Definitions definitions;
  const auto add = definitions.AddFunction(
      "add", [](WorkerContext& worker) { AddTo(worker, "n"); });
  Job job(definitions, 3, 2, options_);
  job.CreateCounter("n");
  constexpr int kRounds = 5;
  constexpr int kCalls = 20;
  InThreads([&](int) {
    for (int round = 0; round < kRounds; ++round) {
      std::vector<RemoteValue<void>> mine;
      for (int i = 0; i < kCalls; ++i) {
        mine.push_back(job.coordinator.Schedule(add));
      }
      job.coordinator.Join();
      for (const RemoteValue<void>& value : mine) EXPECT_TRUE(value.Ready());
    }
  });
  EXPECT_TRUE(job.coordinator.Done());
  EXPECT_EQ(job.Count("n"), kThreads * kRounds * kCalls);
  EXPECT_EQ(job.coordinator.Status().finished,
            std::uint64_t{kThreads * kRounds * kCalls});
}

// Join answers for what was scheduled before it; work that others add later
// does not hold it up.
TEST_P(ThreadsTest, JoinReturnsThoughOthersKeepScheduling) {
  Definitions definitions;
  const auto add = definitions.AddFunction(
      "add", [](WorkerContext& worker) { AddTo(worker, "n"); });
  Job job(definitions, 2, 1, options_);
  job.CreateCounter("n");
  std::atomic<bool> joined = false;
  std::latch busy(1);
  std::int64_t others = 0;
  std::jthread other([&] {
    // Always some, never many.
    std::deque<RemoteValue<void>> some;
    for (; !joined; ++others) {
      some.push_back(job.coordinator.Schedule(add));
      if (some.size() < 50) continue;
      some.front().Fetch();
      some.pop_front();
      if (others == 100) busy.count_down();
    }
  });
  busy.wait();
  const RemoteValue<void> mine = job.coordinator.Schedule(add);
  job.coordinator.Join();
  EXPECT_TRUE(mine.Ready());
  joined = true;
  other.join();
  job.coordinator.Join();
  EXPECT_EQ(job.Count("n"), others + 1);
}

TEST_P(ThreadsTest, EachErrorIsThrownToOneOfThem) {
  Definitions definitions;
  const auto add = definitions.AddFunction(
      "add", [](WorkerContext& worker) { AddTo(worker, "n"); });
  const auto fail = definitions.AddFunction(
      "fail", [] { throw Error(ErrorCode::kDataLoss, "lost"); });
  Job job(definitions, 3, 2, options_);
  job.CreateCounter("n");
  std::atomic<int> thrown = 0;
  std::atomic<int> failed = 0;
  std::atomic<std::int64_t> finished = 0;
  std::atomic<std::int64_t> scheduled = 0;
  InThreads([&](int thread) {
    std::vector<RemoteValue<void>> mine;
    std::vector<RemoteValue<void>> failing;
    for (int i = 0; i < 30; ++i) {
      try {
        if (thread == 0 && i % 10 == 9) {
          failing.push_back(job.coordinator.Schedule(fail));
        } else {
          mine.push_back(job.coordinator.Schedule(add));
        }
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kDataLoss);
        ++thrown;
      }
    }
    try {
      job.coordinator.Join();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kDataLoss);
      ++thrown;
    }
    for (const RemoteValue<void>& value : failing) {
      if (ErrorOf([&] { value.Fetch(); }).code() == ErrorCode::kDataLoss) {
        ++failed;
      }
    }
    for (const RemoteValue<void>& value : mine) {
      ++scheduled;
      try {
        value.Fetch();
        ++finished;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kCancelled);
      }
    }
  });
  // One that was scheduled after the last Join of another thread may be left.
  try {
    job.coordinator.Join();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDataLoss);
    ++thrown;
  }
  EXPECT_LE(thrown, failed);
  EXPECT_EQ(thrown > 0, failed > 0);
  EXPECT_GE(job.Count("n"), finished);
  EXPECT_LE(job.Count("n"), scheduled);
  job.coordinator.Join();
}

TEST_P(ThreadsTest, CancelFetchAndStatusAtOnce) {
  Definitions definitions;
  const auto add = definitions.AddFunction("add", [](WorkerContext& worker) {
    AddTo(worker, "n");
    return 1;
  });
  Job job(definitions, 3, 2, options_);
  job.CreateCounter("n");
  std::atomic<std::int64_t> sum = 0;
  std::atomic<std::int64_t> scheduled = 0;
  InThreads([&](int thread) {
    for (int i = 0; i < 40; ++i) {
      const RemoteValue<int> value = job.coordinator.Schedule(add);
      ++scheduled;
      if ((thread + i) % 4 == 0) value.Cancel();
      if (i % 8 == 0) job.coordinator.Status();
      try {
        sum += value.Fetch();
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kCancelled);
      }
    }
  });
  job.coordinator.Join();
  EXPECT_GE(job.Count("n"), sum);
  EXPECT_LE(job.Count("n"), scheduled);
  EXPECT_GE(sum, scheduled * 3 / 4);
}

TEST_P(ThreadsTest, VariablesAreMadeAndReadAtOnce) {
  Definitions definitions;
  const auto add = definitions.AddFunction(
      "add",
      [](WorkerContext& worker, std::string name) { AddTo(worker, name); });
  Job job(definitions, 3, 2, options_);
  InThreads([&](int thread) {
    const std::string name = "n" + std::to_string(thread);
    job.CreateCounter(name);
    for (int i = 0; i < 10; ++i) job.coordinator.Schedule(add, name);
    job.coordinator.Join();
    EXPECT_EQ(job.Count(name), 10);
    job.coordinator.DropVariables({name});
  });
}

TEST_P(ThreadsTest, AFunctionMayUseItsContextFromSeveralThreads) {
  Definitions definitions;
  const auto many = definitions.AddFunction("many", [](WorkerContext& worker) {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int k = 0; k < 5; ++k) AddTo(worker, "n");
        worker.Read("n");
      });
    }
  });
  Job job(definitions, 2, 1, options_);
  job.CreateCounter("n");
  for (int i = 0; i < 3; ++i) job.coordinator.Schedule(many);
  job.coordinator.Join();
  EXPECT_EQ(job.Count("n"), 60);
}

}  // namespace
}  // namespace capstan

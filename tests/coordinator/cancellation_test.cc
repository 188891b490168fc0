// Functions that are ended, deadlines, and the end of a cluster.
#include <atomic>
#include <future>
#include <thread>

#include "coordinator/helpers.h"

namespace capstan {
namespace {

using testing::AddTo;
using ::testing::AllOf;
using testing::Door;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::IsError;
using testing::Job;
using testing::RunForEver;

class CancellationTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  const CoordinatorOptions options_ = testing::WithCapacity(GetParam());
};

INSTANTIATE_TEST_SUITE_P(, CancellationTest,
                         ::testing::Values(testing::kWide, testing::kNarrow),
                         testing::CapacityName);

// Behaviour 32, for each way in which a function may notice.
TEST_P(CancellationTest, ALongFunctionIsCancelledByTheFailureOfAnother) {
  Definitions definitions;
  Door begun;
  std::atomic<int> running = 0;
  const auto arrive = [&] {
    if (++running == 2) begun.Open();
  };
  const auto sleeps = definitions.AddFunction("sleeps", [&](WorkerContext& w) {
    arrive();
    RunForEver(w);
    return 1;
  });
  const auto looks = definitions.AddFunction("looks", [&](WorkerContext& w) {
    arrive();
    while (!w.Cancelled()) std::this_thread::yield();
    w.ThrowIfCancelled();
    return 1;
  });
  const auto fail = definitions.AddFunction("fail", [&](WorkerContext& w) {
    begun.Wait(w);
    throw Error(ErrorCode::kInternal, "my own fault");
  });
  const auto add =
      definitions.AddFunction("add", [](WorkerContext& w) { AddTo(w, "n"); });
  Job job(definitions, 3, 2, options_);
  job.CreateCounter("n");
  const RemoteValue<int> first = job.coordinator.Schedule(sleeps);
  const RemoteValue<int> second = job.coordinator.Schedule(looks);
  const RemoteValue<void> third = job.coordinator.Schedule(fail);
  EXPECT_THAT(ErrorOf([&] { job.coordinator.Join(); }),
              IsError(ErrorCode::kInternal, HasSubstr("my own fault")));
  for (const RemoteValue<int>& value : {first, second}) {
    EXPECT_TRUE(value.Ready()) << "when it throws, nothing runs any more";
    EXPECT_THAT(ErrorOf([&] { value.Fetch(); }),
                IsError(ErrorCode::kCancelled, HasSubstr("schedule it again")));
  }
  for (int i = 0; i < 10; ++i) job.coordinator.Schedule(add);
  job.coordinator.Join();
  EXPECT_EQ(job.Count("n"), 10);
}

// What a function does with variables is refused once it is cancelled, and a
// function that catches that and returns has ended all the same.
TEST_P(CancellationTest, ReadsAndUpdatesOfACancelledFunctionThrow) {
  Definitions definitions;
  Door begun;
  std::promise<std::pair<ErrorCode, ErrorCode>> seen;
  const auto stubborn =
      definitions.AddFunction("stubborn", [&](WorkerContext& worker) {
        begun.Open();
        while (!worker.Cancelled()) std::this_thread::yield();
        const Error read = ErrorOf([&] { worker.Read("n"); });
        const Error update = ErrorOf([&] { AddTo(worker, "n"); });
        seen.set_value({read.code(), update.code()});
      });
  const auto fail = definitions.AddFunction("fail", [&](WorkerContext& w) {
    begun.Wait(w);
    throw Error(ErrorCode::kInternal, "no");
  });
  Job job(definitions, 2, 1, options_);
  job.CreateCounter("n");
  job.coordinator.Schedule(stubborn);
  job.coordinator.Schedule(fail);
  EXPECT_THAT(ErrorOf([&] { job.coordinator.Join(); }),
              IsError(ErrorCode::kInternal));
  EXPECT_EQ(seen.get_future().get(),
            std::make_pair(ErrorCode::kCancelled, ErrorCode::kCancelled));
  EXPECT_EQ(job.Count("n"), 0);
}

TEST_P(CancellationTest, OneFunctionThatRunsCanBeCancelled) {
  Definitions definitions;
  Door begun;
  const auto run = definitions.AddFunction("run", [&](WorkerContext& worker) {
    begun.Open();
    RunForEver(worker);
  });
  const auto add =
      definitions.AddFunction("add", [](WorkerContext& w) { AddTo(w, "n"); });
  Job job(definitions, 2, 1, options_);
  job.CreateCounter("n");
  const RemoteValue<void> value = job.coordinator.Schedule(run);
  begun.Wait();
  for (int i = 0; i < 5; ++i) job.coordinator.Schedule(add);
  value.Cancel();
  EXPECT_THAT(ErrorOf([&] { value.Fetch(); }), IsError(ErrorCode::kCancelled));
  job.coordinator.Join();
  EXPECT_TRUE(job.coordinator.Done());
  EXPECT_EQ(job.Count("n"), 5) << "the others are not disturbed";
  EXPECT_TRUE(job.coordinator.LastErrors().empty());
  value.Cancel();
  EXPECT_THAT(ErrorOf([&] { value.Fetch(); }), IsError(ErrorCode::kCancelled));
}

TEST_P(CancellationTest, OneFunctionThatWaitsCanBeCancelled) {
  Definitions definitions;
  Door begun;
  Door end;
  const auto block = definitions.AddFunction("block", [&](WorkerContext& w) {
    begun.Open();
    end.Wait(w);
  });
  const auto add =
      definitions.AddFunction("add", [](WorkerContext& w) { AddTo(w, "n"); });
  // One worker that has nothing at hand: all else is in the queue.
  CoordinatorOptions options = options_;
  options.queued_per_worker = 0;
  Job job(definitions, 1, 1, options);
  job.CreateCounter("n");
  const RemoteValue<void> first = job.coordinator.Schedule(block);
  begun.Wait();
  const RemoteValue<void> second = job.coordinator.Schedule(add);
  const RemoteValue<void> third = job.coordinator.Schedule(add);
  EXPECT_EQ(job.coordinator.Status().queued, 2u);
  second.Cancel();
  EXPECT_TRUE(second.Ready()) << "at once";
  EXPECT_THAT(ErrorOf([&] { second.Fetch(); }), IsError(ErrorCode::kCancelled));
  EXPECT_EQ(job.coordinator.Status().queued, 1u);
  // Its place is free, also in a narrow queue.
  const RemoteValue<void> fourth = job.coordinator.Schedule(add);
  end.Open();
  job.coordinator.Join();
  first.Fetch();
  third.Fetch();
  fourth.Fetch();
  EXPECT_EQ(job.Count("n"), 2);
}

// At hand with the worker, behind one that runs.
TEST_P(CancellationTest, OneFunctionThatWaitsAtItsWorkerCanBeCancelled) {
  Definitions definitions;
  Door begun;
  Door end;
  const auto block = definitions.AddFunction("block", [&](WorkerContext& w) {
    begun.Open();
    end.Wait(w);
  });
  const auto add =
      definitions.AddFunction("add", [](WorkerContext& w) { AddTo(w, "n"); });
  Job job(definitions, 1, 1, options_);
  job.CreateCounter("n");
  job.coordinator.Schedule(block);
  begun.Wait();
  const RemoteValue<void> second = job.coordinator.Schedule(add);
  const RemoteValue<void> third = job.coordinator.Schedule(add);
  while (job.coordinator.Status().in_flight < 3) std::this_thread::yield();
  second.Cancel();
  EXPECT_THAT(ErrorOf([&] { second.Fetch(); }), IsError(ErrorCode::kCancelled));
  end.Open();
  job.coordinator.Join();
  third.Fetch();
  EXPECT_EQ(job.Count("n"), 1);
}

TEST_P(CancellationTest, CancellingManyInAnyStateLeavesTheRestExact) {
  Definitions definitions;
  const auto add = definitions.AddFunction("add", [](WorkerContext& worker) {
    AddTo(worker, "n");
    return 1;
  });
  Job job(definitions, 3, 2, options_);
  job.CreateCounter("n");
  std::vector<RemoteValue<int>> kept;
  std::vector<RemoteValue<int>> cancelled;
  for (int i = 0; i < 200; ++i) {
    RemoteValue<int> value = job.coordinator.Schedule(add);
    if (i % 3 == 0) {
      value.Cancel();
      cancelled.push_back(value);
    } else {
      kept.push_back(value);
    }
  }
  job.coordinator.Join();
  std::int64_t most = 0;
  for (const RemoteValue<int>& value : kept) most += value.Fetch();
  const std::int64_t least = most;
  EXPECT_EQ(least, 133);
  for (const RemoteValue<int>& value : cancelled) {
    ASSERT_TRUE(value.Ready());
    ++most;
  }
  // One that was cancelled as it ran may have added; none has twice.
  EXPECT_GE(job.Count("n"), least);
  EXPECT_LE(job.Count("n"), most);
}

TEST_P(CancellationTest, FetchGivesUpAtItsDeadlineAndNamesTheStep) {
  Definitions definitions;
  Door end;
  const auto slow = definitions.AddFunction("slow", [&](WorkerContext& w) {
    end.Wait(w);
    return 5;
  });
  Job job(definitions, 1, 1, options_);
  const RemoteValue<int> value = job.coordinator.Schedule(slow);
  EXPECT_THAT(
      ErrorOf([&] { value.Fetch(std::chrono::milliseconds(1)); }),
      IsError(ErrorCode::kDeadlineExceeded,
              AllOf(HasSubstr("step 1 ('slow')"), HasSubstr("0.001 s"))));
  EXPECT_THAT(ErrorOf([&] { value.Fetch(std::chrono::nanoseconds(0)); }),
              IsError(ErrorCode::kDeadlineExceeded));
  end.Open();
  EXPECT_EQ(value.Fetch(std::chrono::minutes(1)), 5);
  EXPECT_EQ(value.Fetch(std::chrono::nanoseconds(0)), 5) << "it is there";
  job.coordinator.Join();
}

TEST_P(CancellationTest, JoinGivesUpAtItsDeadlineAndSaysWhatIsLeft) {
  Definitions definitions;
  Door begun;
  Door end;
  const auto slow = definitions.AddFunction("slow", [&](WorkerContext& w) {
    begun.Open();
    end.Wait(w);
  });
  CoordinatorOptions options = options_;
  options.queued_per_worker = 0;
  Job job(definitions, 1, 1, options);
  for (int i = 0; i < 3; ++i) {
    job.coordinator.Schedule(slow);
    begun.Wait();
  }
  EXPECT_THAT(
      ErrorOf([&] { job.coordinator.Join(std::chrono::milliseconds(1)); }),
      IsError(ErrorCode::kDeadlineExceeded,
              AllOf(HasSubstr("2 functions queued"), HasSubstr("1 running"),
                    HasSubstr("step 1 ('slow')"))));
  EXPECT_FALSE(job.coordinator.Done()) << "nothing was ended by that";
  end.Open();
  job.coordinator.Join(std::chrono::minutes(1));
  EXPECT_EQ(job.coordinator.Status().finished, 3u);
  job.coordinator.Join(std::chrono::nanoseconds(0));
}

// The error waits for a function that does not look; nobody else does.
TEST_P(CancellationTest, DoneAndJoinWithADeadlineDoNotWaitForAStubbornOne) {
  Definitions definitions;
  Door begun;
  Door end;
  const auto stubborn = definitions.AddFunction("stubborn", [&] {
    begun.Open();
    end.Wait();
  });
  const auto fail = definitions.AddFunction("fail", [&](WorkerContext& w) {
    begun.Wait(w);
    throw Error(ErrorCode::kInternal, "no");
  });
  Job job(definitions, 2, 1, options_);
  const RemoteValue<void> running = job.coordinator.Schedule(stubborn);
  const RemoteValue<void> failing = job.coordinator.Schedule(fail);
  EXPECT_THROW(failing.Fetch(), Error);
  EXPECT_FALSE(job.coordinator.Done());
  EXPECT_THAT(
      ErrorOf([&] { job.coordinator.Join(std::chrono::milliseconds(1)); }),
      IsError(ErrorCode::kDeadlineExceeded,
              AllOf(HasSubstr("an error is pending"), HasSubstr("'fail'"),
                    HasSubstr("step 1 ('stubborn')"))));
  EXPECT_FALSE(job.coordinator.Done());
  end.Open();
  running.Fetch();
  EXPECT_THAT(ErrorOf([&] { job.coordinator.Done(); }),
              IsError(ErrorCode::kInternal, HasSubstr("no")));
  EXPECT_TRUE(job.coordinator.Done());
}

// --- The end of a cluster. Behaviour 39.

TEST(EndOfClusterTest, FunctionsThatRunAreCancelled) {
  Definitions definitions;
  std::atomic<int> running = 0;
  std::atomic<int> ended = 0;
  Door begun;
  const auto run = definitions.AddFunction("run", [&](WorkerContext& worker) {
    if (++running == 2) begun.Open();
    try {
      RunForEver(worker);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCancelled);
      ++ended;
      throw;
    }
  });
  std::vector<RemoteValue<void>> values;
  {
    Job job(definitions, 2, 1);
    for (int i = 0; i < 20; ++i)
      values.push_back(job.coordinator.Schedule(run));
    begun.Wait();
  }
  EXPECT_EQ(running, ended) << "no function runs any more";
  EXPECT_GE(ended, 2);
  for (const RemoteValue<void>& value : values) {
    ASSERT_TRUE(value.Ready());
    EXPECT_THAT(ErrorOf([&] { value.Fetch(); }),
                IsError(ErrorCode::kCancelled));
  }
}

TEST(EndOfClusterTest, WhoeverWaitsForAValueIsTold) {
  Definitions definitions;
  Door begun;
  const auto run = definitions.AddFunction("run", [&](WorkerContext& worker) {
    begun.Open();
    RunForEver(worker);
  });
  std::thread waiter;
  std::promise<ErrorCode> then;
  {
    Job job(definitions, 1, 1);
    const RemoteValue<void> value = job.coordinator.Schedule(run);
    waiter = std::thread([value] {
      EXPECT_THAT(ErrorOf([&] { value.Fetch(); }),
                  IsError(ErrorCode::kCancelled));
    });
    value.Then([&](const RemoteValue<void>& ready) {
      then.set_value(ErrorOf([&] { ready.Fetch(); }).code());
    });
    begun.Wait();
  }
  waiter.join();
  EXPECT_EQ(then.get_future().get(), ErrorCode::kCancelled);
}

// Handles belong to nobody's thread, and outlive the cluster.
TEST(EndOfClusterTest, OtherThreadsMayUseTheirHandlesMeanwhile) {
  Definitions definitions;
  const auto run = definitions.AddFunction(
      "run", [](WorkerContext& worker) { RunForEver(worker); });
  const auto number =
      definitions.AddResource("number", [](const InputContext&) { return 7; });
  for (int i = 0; i < 10; ++i) {
    std::atomic<int> called = 0;
    std::vector<std::jthread> threads;
    {
      Job job(definitions, 2, 1);
      for (int t = 0; t < 3; ++t) {
        std::vector<RemoteValue<void>> values;
        for (int k = 0; k < 200; ++k) {
          values.push_back(job.coordinator.Schedule(run));
        }
        threads.emplace_back([&called, values = std::move(values)] {
          for (const RemoteValue<void>& value : values) {
            value.Then([&called](const RemoteValue<void>&) { ++called; });
            value.Cancel();
          }
          for (const RemoteValue<void>& value : values) {
            EXPECT_THAT(ErrorOf([&] { value.Fetch(); }),
                        IsError(ErrorCode::kCancelled));
          }
        });
      }
      std::vector<PerWorker<int>> handles;
      for (int k = 0; k < 50; ++k) {
        handles.push_back(job.coordinator.CreatePerWorkerResource(number));
      }
      threads.emplace_back([handles = std::move(handles)]() mutable {
        while (!handles.empty()) handles.pop_back();
      });
    }
    threads.clear();
    EXPECT_EQ(called, 600) << "each callback, once";
  }
}

// A failure that nobody has asked for does not keep the cluster from ending.
TEST(EndOfClusterTest, APendingErrorIsForgotten) {
  Definitions definitions;
  const auto fail = definitions.AddFunction(
      "fail", [] { throw Error(ErrorCode::kInternal, "unheard"); });
  std::optional<RemoteValue<void>> value;
  {
    Job job(definitions, 2, 1);
    value = job.coordinator.Schedule(fail);
    EXPECT_THROW(value->Fetch(), Error);
  }
  EXPECT_THAT(ErrorOf([&] { value->Fetch(); }), IsError(ErrorCode::kInternal));
}

TEST(EndOfClusterTest, ManyClustersComeAndGoWithWorkInThem) {
  Definitions definitions;
  const auto add =
      definitions.AddFunction("add", [](WorkerContext& w) { AddTo(w, "n"); });
  for (int i = 0; i < 10; ++i) {
    Job job(definitions, 2, 1);
    job.CreateCounter("n");
    for (int k = 0; k < 10 * i; ++k) job.coordinator.Schedule(add);
  }
}

}  // namespace
}  // namespace capstan

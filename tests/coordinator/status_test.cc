// What the coordinator says of itself.
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>

#include "coordinator/helpers.h"

namespace capstan {
namespace {

using testing::AddTo;
using testing::Door;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::IsError;
using testing::Job;
using testing::RunForEver;

std::uint64_t Total(const CoordinatorStatus& status) {
  return status.queued + status.in_flight + status.finished + status.failed +
         status.cancelled;
}

TEST(StatusTest, IsAllZeroesAtFirstButForTheWorkers) {
  Job job(Definitions(), 3, 1);
  const CoordinatorStatus status = job.coordinator.Status();
  EXPECT_EQ(status.ready_workers, 3);
  EXPECT_EQ(Total(status), 0u);
  EXPECT_EQ(status.retries, 0u);
  EXPECT_EQ(status.per_second, 0);
}

TEST(StatusTest, SaysWhatIsQueuedAndRuns) {
  Definitions definitions;
  Door end;
  const auto block = definitions.AddFunction(
      "block", [&](WorkerContext& worker) { end.Wait(worker); });
  Job job(definitions, 2, 1);
  for (int i = 0; i < 20; ++i) job.coordinator.Schedule(block);
  // Each worker has one that runs and two at hand.
  while (job.coordinator.Status().in_flight < 6) std::this_thread::yield();
  CoordinatorStatus status = job.coordinator.Status();
  EXPECT_EQ(status.in_flight, 6u);
  EXPECT_EQ(status.queued, 14u);
  EXPECT_EQ(status.finished, 0u);
  end.Open();
  job.coordinator.Join();
  status = job.coordinator.Status();
  EXPECT_EQ(status.in_flight, 0u);
  EXPECT_EQ(status.queued, 0u);
  EXPECT_EQ(status.finished, 20u);
  EXPECT_EQ(status.retries, 0u);
}

TEST(StatusTest, CountsFailuresAndCancellationsOnce) {
  Definitions definitions;
  Door begun;
  const auto good = definitions.AddFunction("good", [] {});
  const auto run = definitions.AddFunction("run", [&](WorkerContext& worker) {
    begun.Open();
    RunForEver(worker);
  });
  const auto fail = definitions.AddFunction("fail", [&](WorkerContext& worker) {
    begun.Wait(worker);
    throw Error(ErrorCode::kInternal, "no");
  });
  CoordinatorOptions options;
  options.queued_per_worker = 0;
  Job job(definitions, 2, 1, options);
  for (int i = 0; i < 5; ++i) job.coordinator.Schedule(good);
  job.coordinator.Join();
  const RemoteValue<void> cancelled = job.coordinator.Schedule(run);
  begun.Wait();
  cancelled.Cancel();
  job.coordinator.Join();
  CoordinatorStatus status = job.coordinator.Status();
  EXPECT_EQ(status.finished, 5u);
  EXPECT_EQ(status.cancelled, 1u);
  EXPECT_EQ(status.failed, 0u);
  job.coordinator.Schedule(run);
  job.coordinator.Schedule(fail);
  EXPECT_THROW(job.coordinator.Join(), Error);
  status = job.coordinator.Status();
  EXPECT_EQ(status.finished, 5u);
  EXPECT_EQ(status.cancelled, 2u);
  EXPECT_EQ(status.failed, 1u);
  EXPECT_EQ(Total(status), 8u);
}

TEST(StatusTest, AFunctionThatThrowsCancelledUnaskedIsCountedOnce) {
  Definitions definitions;
  const auto fail = definitions.AddFunction(
      "fail", [] { throw Error(ErrorCode::kCancelled, "by myself"); });
  Job job(definitions, 1, 1);
  job.coordinator.Schedule(fail);
  EXPECT_THAT(ErrorOf([&] { job.coordinator.Join(); }),
              IsError(ErrorCode::kCancelled, HasSubstr("by myself")));
  const CoordinatorStatus status = job.coordinator.Status();
  EXPECT_EQ(status.failed, 1u);
  EXPECT_EQ(status.cancelled, 0u);
}

TEST(StatusTest, AddsUpAtAnyMoment) {
  Definitions definitions;
  const auto some = definitions.AddFunction("some", [](WorkerContext& worker) {
    AddTo(worker, "n");
    if (worker.step() % 17 == 0) throw Error(ErrorCode::kInternal, "no");
  });
  Job job(definitions, 3, 1);
  job.CreateCounter("n");
  std::uint64_t scheduled = 0;
  for (int i = 0; i < 500; ++i) {
    try {
      const RemoteValue<void> value = job.coordinator.Schedule(some);
      ++scheduled;
      if (i % 11 == 0) value.Cancel();
      if (i % 50 == 0) job.coordinator.Join();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInternal);
    }
    if (i % 7 == 0) {
      EXPECT_EQ(Total(job.coordinator.Status()), scheduled);
    }
  }
  while (true) {
    try {
      job.coordinator.Join();
      break;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInternal);
    }
  }
  const CoordinatorStatus status = job.coordinator.Status();
  EXPECT_EQ(Total(status), scheduled);
  EXPECT_EQ(status.queued + status.in_flight, 0u);
  EXPECT_GT(status.failed, 0u);
}

// A queue that is full makes Schedule wait, and lets it go on.
TEST(StatusTest, NoMoreIsQueuedThanTheCapacity) {
  Definitions definitions;
  Door end;
  const auto block = definitions.AddFunction(
      "block", [&](WorkerContext& worker) { end.Wait(worker); });
  CoordinatorOptions options = testing::WithCapacity(3);
  options.queued_per_worker = 0;
  Job job(definitions, 1, 1, options);
  std::atomic<int> scheduled = 0;
  std::jthread other([&] {
    for (int i = 0; i < 10; ++i) {
      job.coordinator.Schedule(block);
      ++scheduled;
    }
  });
  while (scheduled < 4) std::this_thread::yield();
  for (int i = 0; i < 100; ++i) {
    EXPECT_LE(job.coordinator.Status().queued, 3u);
  }
  EXPECT_EQ(scheduled, 4);
  end.Open();
  other.join();
  job.coordinator.Join();
  EXPECT_EQ(job.coordinator.Status().finished, 10u);
}

TEST(StatusTest, ACapacityOfZeroIsNoBound) {
  Definitions definitions;
  Door end;
  const auto block = definitions.AddFunction(
      "block", [&](WorkerContext& worker) { end.Wait(worker); });
  Job job(definitions, 1, 1, testing::WithCapacity(0));
  for (int i = 0; i < 1000; ++i) job.coordinator.Schedule(block);
  end.Open();
  job.coordinator.Join();
  EXPECT_EQ(job.coordinator.Status().finished, 1000u);
}

// What is written to standard error while this lives.
class StderrReader {
 public:
  StderrReader() : before_(dup(2)) {
    EXPECT_EQ(pipe(ends_.data()), 0);
    dup2(ends_[1], 2);
    close(ends_[1]);
  }
  ~StderrReader() {
    dup2(before_, 2);
    close(before_);
    close(ends_[0]);
  }
  StderrReader(const StderrReader&) = delete;
  StderrReader& operator=(const StderrReader&) = delete;

  // Waits until `text` was written, and returns all that was, up to it.
  std::string ReadTo(const std::string& text) {
    std::array<char, 4096> some;
    std::size_t found = 0;
    while ((found = all_.find(text)) == std::string::npos) {
      const ssize_t size = read(ends_[0], some.data(), some.size());
      if (size <= 0) break;
      all_.append(some.data(), static_cast<std::size_t>(size));
    }
    const std::string before = all_.substr(0, found + text.size());
    all_.erase(0, found + text.size());
    return before;
  }

 private:
  const int before_;
  std::array<int, 2> ends_ = {-1, -1};
  std::string all_;
};

// Behaviour 60.
TEST(WatchdogTest, SaysAgainAndAgainWhatEachTaskWaitsFor) {
  Definitions definitions;
  Door end;
  const auto sleeps = definitions.AddFunction(
      "sleeps", [](WorkerContext& worker) { RunForEver(worker); });
  const auto computes = definitions.AddFunction(
      "computes", [&](WorkerContext& worker) { end.Wait(worker); });
  CoordinatorOptions options;
  options.watchdog = std::chrono::milliseconds(10);
  options.queued_per_worker = 0;
  StderrReader log;
  Job job(definitions, 3, 1, options);
  const RemoteValue<void> first = job.coordinator.Schedule(sleeps);
  job.coordinator.Schedule(computes);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(log.ReadTo("What each task waits for"),
                HasSubstr("no function has finished for"));
    // The tasks in order; the first report may come before both have begun.
    if (i == 0) continue;
    EXPECT_THAT(log.ReadTo("waits for a sleep"),
                HasSubstr("worker/0: step 1 ('sleeps')"));
    EXPECT_THAT(log.ReadTo("computes\n"), HasSubstr("worker/1: step 2"));
    EXPECT_THAT(log.ReadTo("for something to do"), HasSubstr("worker/2"));
  }
  first.Cancel();
  end.Open();
  job.coordinator.Join();
}

// A worker that makes a resource is there, however long it takes.
TEST(WatchdogTest, NamesTheResourceThatAWorkerMakes) {
  Definitions definitions;
  Door end;
  const auto model = definitions.AddResource("model", [&](const InputContext&) {
    end.Wait();
    return std::make_shared<int>(5);
  });
  const auto use = definitions.AddFunction(
      "use", [](PerWorker<int> resource) { return *resource; });
  CoordinatorOptions options;
  options.no_worker_timeout = std::chrono::milliseconds(20);
  options.watchdog = std::chrono::milliseconds(50);
  StderrReader log;
  Job job(definitions, 1, 1, options);
  const auto resource = job.coordinator.CreatePerWorkerResource(model);
  const RemoteValue<int> value = job.coordinator.Schedule(use, resource);
  // So long after that nobody was ready, or longer.
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(log.ReadTo("which it makes since"),
                HasSubstr("worker/0: for resource 'model'"));
  }
  EXPECT_FALSE(value.Ready());
  end.Open();
  EXPECT_EQ(value.Fetch(), 5);
  job.coordinator.Join();
}

}  // namespace
}  // namespace capstan

// What the tests of the coordinator share. Functions run in the process of the
// test, so they meet it at doors instead of sleeping. Test-only.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "capstan/coordinator.h"
#include "capstan/error.h"
#include "capstan/program.h"

namespace capstan::testing {

// Closed until it is opened, for good. Thread-safe.
class Door {
 public:
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

  void Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }

  // In a function: throws when its step is cancelled, so that a test that
  // fails before it opens the door still ends.
  void Wait(const WorkerContext& worker) {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::milliseconds(1),
                              [this] { return open_; })) {
      worker.ThrowIfCancelled();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

// Runs until it is cancelled.
inline void RunForEver(const WorkerContext& worker) {
  while (true) worker.SleepFor(std::chrono::hours(1));
}

// What `function` throws.
template <typename F>
Error ErrorOf(F&& function) {
  try {
    function();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return Error(ErrorCode::kInternal, "nothing was thrown");
}

MATCHER_P2(IsError, code, message,
           "has code " + std::string(ErrorCodeName(code)) +
               " and a message that " +
               ::testing::DescribeMatcher<std::string>(message, negation)) {
  const Error& error = arg;
  *result_listener << "which says: " << error.what();
  return error.code() == code &&
         ::testing::ExplainMatchResult(message, std::string(error.message()),
                                       result_listener);
}
inline auto IsError(ErrorCode code) { return IsError(code, ::testing::_); }

// A cluster and its coordinator.
class Job {
 public:
  explicit Job(const Definitions& definitions, int workers = 3, int servers = 2,
               const CoordinatorOptions& options = {})
      : local(definitions, workers, servers),
        coordinator(local.cluster(), options),
        workers_(workers) {
    AwaitWorkers();
  }

  // Until all workers are ready, and so each gets one of the functions that
  // are scheduled then before any gets two.
  void AwaitWorkers() {
    while (coordinator.Status().ready_workers < workers_) {
      std::this_thread::yield();
    }
  }

  // An i64 that is 0.
  void CreateCounter(const std::string& name) {
    coordinator.CreateVariables(
        {{.name = name, .shape = {}, .dtype = DType::kI64}});
  }
  std::int64_t Count(const std::string& name) {
    return coordinator.Read(name).Values<std::int64_t>()[0];
  }
  std::vector<float> Floats(const std::string& name) {
    const Tensor tensor = coordinator.Read(name);
    const auto values = tensor.Values<float>();
    return {values.begin(), values.end()};
  }

  LocalCluster local;
  ClusterCoordinator coordinator;

 private:
  const int workers_;
};

inline void AddTo(WorkerContext& worker, const std::string& counter,
                  std::int64_t amount = 1) {
  worker.Add(counter, Tensor::Scalar(amount));
}

// The bounds of the queue with which the catalogue's tests run.
inline constexpr std::size_t kWide = CoordinatorOptions().queue_capacity;
inline constexpr std::size_t kNarrow = 2;

inline CoordinatorOptions WithCapacity(std::size_t capacity) {
  CoordinatorOptions options;
  options.queue_capacity = capacity;
  return options;
}

inline std::string CapacityName(
    const ::testing::TestParamInfo<std::size_t>& info) {
  return info.param == kNarrow ? "NarrowQueue" : "WideQueue";
}

}  // namespace capstan::testing

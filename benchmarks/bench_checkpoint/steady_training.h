// Training that continues until it is stopped, and its speed.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

#include "bench_checkpoint/workload.h"
#include "capstan/coordinator.h"

namespace capstan::bench {

// Counts finished steps, and measures the longest gap between them.
// Thread-safe.
class StepMeter {
 public:
  void Note();

  struct Reading {
    double per_second = 0;
    double longest_gap = 0;  // in seconds, including the current gap
  };
  // Since the last Take, or since construction.
  Reading Take();

 private:
  using SteadyClock = std::chrono::steady_clock;
  std::mutex mutex_;
  std::uint64_t steps_ = 0;
  SteadyClock::time_point begin_ = SteadyClock::now();
  SteadyClock::time_point last_ = begin_;
  SteadyClock::duration longest_{};
};

// Starts immediately. The coordinator's queue must be bounded, so that training
// ends soon after it is told to.
class SteadyTraining {
 public:
  SteadyTraining(const ClusterCoordinator& coordinator,
                 const Workload& workload,
                 const PerWorker<Gradients>& gradients);
  // Calls Stop, unless it was called.
  ~SteadyTraining();
  SteadyTraining(const SteadyTraining&) = delete;
  SteadyTraining& operator=(const SteadyTraining&) = delete;

  StepMeter& meter() { return *meter_; }
  // Blocks until the last step has ended. Throws the error of a failed step.
  void Stop();

 private:
  ClusterCoordinator coordinator_;
  const std::shared_ptr<StepMeter> meter_ = std::make_shared<StepMeter>();
  std::atomic<bool> stop_ = false;
  std::exception_ptr failure_;  // read once the thread has ended
  std::thread scheduler_;
};

}  // namespace capstan::bench

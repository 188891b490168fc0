#include "bench_checkpoint/steady_training.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace capstan::bench {

void StepMeter::Note() {
  const SteadyClock::time_point now = SteadyClock::now();
  const std::lock_guard lock(mutex_);
  ++steps_;
  longest_ = std::max(longest_, now - last_);
  last_ = now;
}

StepMeter::Reading StepMeter::Take() {
  using Seconds = std::chrono::duration<double>;
  const SteadyClock::time_point now = SteadyClock::now();
  const std::lock_guard lock(mutex_);
  Reading reading;
  reading.per_second =
      static_cast<double>(steps_) / Seconds(now - begin_).count();
  reading.longest_gap = Seconds(std::max(longest_, now - last_)).count();
  steps_ = 0;
  begin_ = now;
  // A gap that is still open counts from its beginning next time.
  longest_ = {};
  return reading;
}

SteadyTraining::SteadyTraining(const ClusterCoordinator& coordinator,
                               const Workload& workload,
                               const PerWorker<Gradients>& gradients)
    : coordinator_(coordinator) {
  scheduler_ = std::thread([this, step = workload.step, gradients] {
    try {
      while (!stop_.load()) {
        coordinator_.Schedule(step, gradients)
            .Then(
                [meter = meter_](const RemoteValue<void>&) { meter->Note(); });
      }
      coordinator_.Join();
    } catch (...) {
      failure_ = std::current_exception();
    }
  });
}

SteadyTraining::~SteadyTraining() {
  stop_.store(true);
  if (scheduler_.joinable()) scheduler_.join();
}

void SteadyTraining::Stop() {
  stop_.store(true);
  if (scheduler_.joinable()) scheduler_.join();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace capstan::bench

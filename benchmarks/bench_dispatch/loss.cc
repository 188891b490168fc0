#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/status.h"
#include "bench_dispatch/experiments.h"
#include "bench_dispatch/job.h"
#include "harness/statistics.h"

namespace capstan {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Times = std::vector<SteadyClock::time_point>;

constexpr int kWorkers = 4;
constexpr int kVictim = 3;
constexpr std::int64_t kMicroseconds = 1'000;
constexpr auto kBefore = std::chrono::milliseconds(1'500);
constexpr auto kAfter = std::chrono::milliseconds(3'000);

double Milliseconds(SteadyClock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

// The longest time in [begin, end) in which a worker finished no closure.
double LongestGap(const Times& times, SteadyClock::time_point begin,
                  SteadyClock::time_point end) {
  SteadyClock::time_point last = begin;
  SteadyClock::duration longest{};
  for (const SteadyClock::time_point time : times) {
    if (time < begin || time >= end) continue;
    longest = std::max(longest, time - last);
    last = time;
  }
  return Milliseconds(std::max(longest, end - last));
}

struct Loss {
  double usual_gap_ms = 0;
  double others_gap_ms = 0;
  double back_ms = 0;
};

absl::StatusOr<Loss> LoseOne() {
  absl::StatusOr<std::unique_ptr<BenchJob>> job =
      BenchJob::Start(kWorkers, false);
  if (!job.ok()) return job.status();
  std::mutex mutex;
  std::vector<Times> times(kWorkers);
  SteadyClock::time_point start;
  SteadyClock::time_point killed;
  SteadyClock::time_point end;
  absl::Status status;
  const auto body = [&](ClusterCoordinator& coordinator,
                        BenchFunctions& functions) {
    std::atomic<bool> stop = false;
    std::thread scheduler([&] {
      while (!stop) {
        coordinator.Schedule(functions.compute, kMicroseconds)
            .Then([&](const RemoteValue<int>& value) {
              const auto now = SteadyClock::now();
              const std::lock_guard lock(mutex);
              times[static_cast<size_t>(value.Fetch())].push_back(now);
            });
      }
    });
    std::this_thread::sleep_for(kBefore / 3);
    start = SteadyClock::now();
    std::this_thread::sleep_for(kBefore);
    killed = SteadyClock::now();
    status = (*job)->Kill(kVictim);
    if (status.ok()) status = (*job)->Restart(kVictim);
    std::this_thread::sleep_for(kAfter);
    end = SteadyClock::now();
    stop = true;
    scheduler.join();
    coordinator.Join();
  };
  CoordinatorOptions options;
  options.queue_capacity = 64;
  CAPSTAN_RETURN_IF_ERROR((*job)->Run(options, body));
  CAPSTAN_RETURN_IF_ERROR(status);
  Loss loss;
  for (int i = 0; i < kWorkers; ++i) {
    const Times& mine = times[static_cast<size_t>(i)];
    if (i == kVictim) {
      const auto back = std::find_if(
          mine.begin(), mine.end(), [&](SteadyClock::time_point time) {
            // Answers that were in flight do not count.
            return time > killed + std::chrono::milliseconds(20);
          });
      loss.back_ms = Milliseconds((back == mine.end() ? end : *back) - killed);
      continue;
    }
    loss.usual_gap_ms =
        std::max(loss.usual_gap_ms, LongestGap(mine, start, killed));
    loss.others_gap_ms =
        std::max(loss.others_gap_ms, LongestGap(mine, killed, end));
  }
  return loss;
}

}  // namespace

absl::Status MeasureLoss(int rounds, Report& report) {
  std::vector<double> usual;
  std::vector<double> others;
  std::vector<double> stalls;
  std::vector<double> back;
  for (int i = 0; i < rounds; ++i) {
    const absl::StatusOr<Loss> loss = LoseOne();
    if (!loss.ok()) return loss.status();
    usual.push_back(loss->usual_gap_ms);
    others.push_back(loss->others_gap_ms);
    stalls.push_back(std::max(0.0, loss->others_gap_ms - loss->usual_gap_ms));
    back.push_back(loss->back_ms);
  }
  report.Set("usual_gap_ms", Median(usual));
  report.Set("others_gap_ms", Median(others));
  report.Set("stall_others_ms", Median(stalls));
  report.Set("worker_back_ms", Median(back));
  report.PrintRow("the others' longest gap after a kill, and before", "ms",
                  Median(others), Median(usual), Median(stalls));
  report.PrintRow("until the killed worker is in use again", "ms",
                  Median(back));
  return absl::OkStatus();
}

}  // namespace capstan

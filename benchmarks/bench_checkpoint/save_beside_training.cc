#include <algorithm>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "bench_checkpoint/measure.h"
#include "bench_checkpoint/peak_memory.h"
#include "bench_checkpoint/steady_training.h"
#include "bench_checkpoint/warm_memory.h"

namespace capstan::bench {
namespace {

// The first steps allocate memory and connect.
constexpr std::chrono::seconds kWarmUp(1);
// Before and after, about as long as writing the files takes.
constexpr std::chrono::seconds kNormal(3);

double Seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

void ResetPeaks(const RunningJob& job) {
  for (const pid_t server : job.servers) ThrowIfError(ResetPeakMemory(server));
}

// The worst server's peak, relative to what it has saved.
double PeakRatio(const RunningJob& job, const std::vector<PlainFile>& files) {
  double worst = 0;
  for (size_t i = 0; i < files.size(); ++i) {
    const auto peak =
        static_cast<double>(ValueOrThrow(PeakMemory(job.servers[i])));
    worst = std::max(worst, peak / static_cast<double>(files[i].memory.size()));
  }
  return worst;
}

}  // namespace

void MeasureSaveBesideTraining(Bench& bench, Figures& figures) {
  // Every checkpoint has the same size, so any will do.
  const std::vector<PlainFile> files = FilesOf(
      bench.checkpoints, bench.checkpoints.latest().value(), bench.memory);
  ThrowIfError(SettleDisk(bench.plain_directory));
  Buffer reserve = ReserveMemory();
  SteadyTraining training(bench.job.coordinator, bench.job.workload,
                          bench.gradients);
  std::this_thread::sleep_for(kWarmUp);
  ResetPeaks(bench.job);
  training.meter().Take();
  std::this_thread::sleep_for(kNormal);
  const StepMeter::Reading before = training.meter().Take();
  figures.normal_memory_ratio.push_back(PeakRatio(bench.job, files));

  ResetPeaks(bench.job);
  reserve = Buffer();
  training.meter().Take();
  bench.checkpoints.Save();
  const StepMeter::Reading pause = training.meter().Take();
  bench.checkpoints.Wait();
  const StepMeter::Reading saving = training.meter().Take();
  figures.memory_ratio.push_back(PeakRatio(bench.job, files));
  std::this_thread::sleep_for(kNormal);
  const StepMeter::Reading after = training.meter().Take();
  training.Stop();

  const CheckpointManager::Pause held = bench.checkpoints.last_pause();
  figures.drain.push_back(Seconds(held.drain));
  figures.pause.push_back(Seconds(held.copy));
  figures.normal_stall.push_back(before.longest_gap);
  figures.stall.push_back(std::max(pause.longest_gap, saving.longest_gap));
  const double normal = (before.per_second + after.per_second) / 2;
  figures.normal_rate.push_back(normal);
  figures.saving_rate.push_back(saving.per_second);
  figures.background_ratio.push_back(saving.per_second / normal);
}

}  // namespace capstan::bench

#include "bench_checkpoint/measure.h"

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status.h"
#include "bench_checkpoint/warm_memory.h"
#include "harness/memory.h"
#include "harness/statistics.h"

namespace capstan::bench {
namespace {

// A file's size beyond the state: its header.
constexpr std::uint64_t kRoom = 1 << 20;

// The median of the ratios of neighbouring samples.
double Ratio(const Figures::Samples& above, const Figures::Samples& below) {
  Figures::Samples ratios;
  for (size_t i = 0; i < above.size(); ++i) {
    ratios.push_back(above[i] / below[i]);
  }
  return Median(ratios);
}

void Round(Bench& bench, bool ours_first, Figures& figures) {
  figures.memcpy_time.push_back(
      CopyPlain(bench.other_memory.mutable_bytes().first(kStateBytes),
                bench.memory.bytes()));
  MeasureWrite(bench, ours_first, figures);
  MeasureSaveBesideTraining(bench, figures);
  MeasureRestore(bench, ours_first, figures);
  bench.checkpoints.RemoveAll();
}

class Lines {
 public:
  Lines(std::string prefix, Report& report)
      : prefix_(std::move(prefix)), report_(report) {}

  // `ratio` is ours over the reference, or the reverse: more is better except
  // for pauses. Times are given in seconds and shown in milliseconds.
  void Time(const std::string& name, const std::string& key, double ours) {
    report_.Set(absl::StrCat(prefix_, ".", key, "_ms"), 1e3 * ours);
    report_.PrintRow(name, "ms", 1e3 * ours);
  }
  void Times(const std::string& name, const std::string& key,
             const Figures::Samples& ours, const std::string& plain_key,
             const Figures::Samples& plain, const std::string& ratio_key,
             double ratio) {
    report_.Set(absl::StrCat(prefix_, ".", key, "_ms"), 1e3 * Median(ours));
    report_.Set(absl::StrCat(prefix_, ".", plain_key, "_ms"),
                1e3 * Median(plain));
    report_.Set(absl::StrCat(prefix_, ".", ratio_key), ratio);
    report_.PrintRow(name, "ms", 1e3 * Median(ours), 1e3 * Median(plain),
                     ratio);
  }
  void Rates(const Figures& figures) {
    const double ours = Median(figures.saving_rate);
    const double normal = Median(figures.normal_rate);
    const double ratio = Median(figures.background_ratio);
    report_.Set(absl::StrCat(prefix_, ".steps_per_second_saving"), ours);
    report_.Set(absl::StrCat(prefix_, ".steps_per_second"), normal);
    report_.Set(absl::StrCat(prefix_, ".background_ratio"), ratio);
    report_.PrintRow("steps while it writes, and without", "/s", ours, normal,
                     ratio);
  }
  void Memory(const std::string& name, const std::string& key, double ratio) {
    report_.Set(absl::StrCat(prefix_, ".", key), ratio);
    report_.PrintRow(name, "x", ratio);
  }

 private:
  const std::string prefix_;
  Report& report_;
};

void Say(const Figures& figures, Lines lines) {
  lines.Times("pause of Save, and a memcpy", "pause", figures.pause, "memcpy",
              figures.memcpy_time, "pause_ratio",
              Ratio(figures.pause, figures.memcpy_time));
  lines.Times("longest time without a step", "stall", figures.stall, "memcpy",
              figures.memcpy_time, "stall_ratio",
              Ratio(figures.stall, figures.memcpy_time));
  lines.Time("... when nothing is saved", "normal_stall",
             Median(figures.normal_stall));
  lines.Time("drain before the pause", "drain", Median(figures.drain));
  lines.Rates(figures);
  lines.Memory("peak memory / state, saving", "memory_ratio",
               Median(figures.memory_ratio));
  lines.Memory("... training alone", "normal_memory_ratio",
               Median(figures.normal_memory_ratio));
  lines.Times("Save's return to Wait's", "write", figures.write_time,
              "plain_write", figures.plain_write_time, "write_ratio",
              Ratio(figures.plain_write_time, figures.write_time));
  lines.Times("restore, files cached", "restore", figures.restore_time,
              "plain_read", figures.plain_read_time, "read_ratio",
              Ratio(figures.plain_read_time, figures.restore_time));
  lines.Times("... and a read into new memory", "restore", figures.restore_time,
              "plain_read_new", figures.plain_read_new_time, "read_new_ratio",
              Ratio(figures.plain_read_new_time, figures.restore_time));
  lines.Times("restore, from the disk", "cold_restore",
              figures.cold_restore_time, "plain_cold_read",
              figures.plain_cold_read_time, "cold_read_ratio",
              Ratio(figures.plain_cold_read_time, figures.cold_restore_time));
  lines.Time("verify before old ones go", "verify",
             Median(figures.verify_time));
}

}  // namespace

absl::Status MeasureCheckpoints(const std::string& directory, bool stream,
                                int rounds, const std::string& prefix,
                                Report& report) {
  absl::StatusOr<Buffer> memory = TouchedMemory(kStateBytes + kRoom);
  if (!memory.ok()) return memory.status();
  absl::StatusOr<Buffer> other = TouchedMemory(kStateBytes + kRoom);
  if (!other.ok()) return other.status();
  Figures figures;
  CAPSTAN_RETURN_IF_ERROR(RunJob(stream ? "" : directory, [&](RunningJob& job) {
    job.coordinator.CreateVariables(SavedVariables());
    // Keep all checkpoints: removing one would verify the new one first.
    CheckpointManager checkpoints(job.coordinator, directory + "/saved",
                                  {.max_to_keep = 0});
    Bench bench{.job = job,
                .checkpoints = checkpoints,
                .gradients = job.coordinator.CreatePerWorkerResource(
                    job.workload.gradients),
                .plain_directory = directory,
                .memory = *std::move(memory),
                .other_memory = *std::move(other)};
    // Slots have no memory before their first update.
    ReserveMemory();
    for (int i = 0; i < 2 * kWorkers; ++i) {
      job.coordinator.Schedule(job.workload.step, bench.gradients);
    }
    job.coordinator.Join();
    for (int i = 0; i < rounds; ++i) Round(bench, i % 2 == 0, figures);
  }));
  Say(figures, Lines(prefix, report));
  return absl::OkStatus();
}

}  // namespace capstan::bench

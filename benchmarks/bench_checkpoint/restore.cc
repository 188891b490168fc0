#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "base/error.h"
#include "base/file/open_folder.h"
#include "bench_checkpoint/measure.h"
#include "bench_checkpoint/warm_memory.h"
#include "checkpoint/directory.h"

namespace capstan::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

double Seconds(SteadyClock::time_point since) {
  return std::chrono::duration<double>(SteadyClock::now() - since).count();
}

double TimeRestore(Bench& bench) {
  const SteadyClock::time_point start = SteadyClock::now();
  bench.checkpoints.Restore();
  return Seconds(start);
}

// Into memory that the kernel has yet to supply, as in a restore.
double TimeReadNew(std::vector<PlainFile> files) {
  std::vector<Buffer> memory;
  for (PlainFile& file : files) {
    memory.push_back(
        ValueOrThrow(Buffer::Allocate(file.memory.size(), Fill::kNone)));
    file.memory = memory.back().mutable_bytes();
  }
  return ValueOrThrow(ReadPlain(files));
}

double TimeVerify(const Bench& bench) {
  const auto files =
      OpenFolder(bench.checkpoints.directory(), IfMissing::kFail);
  const SteadyClock::time_point start = SteadyClock::now();
  const Checkpoint newest =
      ValueOrThrow(OpenCheckpoint(*files, bench.checkpoints.latest().value()));
  ThrowIfError(VerifyCheckpoint(*files, newest.name, newest.manifest));
  return Seconds(start);
}

}  // namespace

void MeasureRestore(Bench& bench, bool ours_first, Figures& figures) {
  const std::vector<PlainFile> files = FilesOf(
      bench.checkpoints, bench.checkpoints.latest().value(), bench.memory);
  struct Case {
    bool cold;
    std::function<double()> time;
    Figures::Samples* samples;
  };
  const auto restore = [&] { return TimeRestore(bench); };
  const auto read = [&] { return ValueOrThrow(ReadPlain(files)); };
  const auto read_new = [&] { return TimeReadNew(files); };
  std::vector<Case> cases = {
      {false, restore, &figures.restore_time},
      {false, read, &figures.plain_read_time},
      {false, read_new, &figures.plain_read_new_time},
      {true, restore, &figures.cold_restore_time},
      {true, read, &figures.plain_cold_read_time},
  };
  if (!ours_first) std::reverse(cases.begin(), cases.end());
  for (const Case& one : cases) {
    // All of the files are in the page cache, or none of them.
    for (const PlainFile& file : files) {
      if (one.cold) ThrowIfError(ForgetCached(file.path));
    }
    if (!one.cold) ThrowIfError(ReadPlain(files).status());
    ReserveMemory();
    one.samples->push_back(one.time());
  }
  // Into the page cache, as after a save.
  ThrowIfError(ReadPlain(files).status());
  figures.verify_time.push_back(TimeVerify(bench));
}

}  // namespace capstan::bench

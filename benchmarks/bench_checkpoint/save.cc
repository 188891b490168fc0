#include <chrono>
#include <cstdio>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "bench_checkpoint/measure.h"
#include "bench_checkpoint/warm_memory.h"

namespace capstan::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

double TimeSave(Bench& bench) {
  ThrowIfError(SettleDisk(bench.plain_directory));
  ReserveMemory();
  bench.checkpoints.Save();
  const SteadyClock::time_point start = SteadyClock::now();
  bench.checkpoints.Wait();
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

double TimePlain(Bench& bench) {
  std::vector<PlainFile> files;
  constexpr size_t kFileBytes = kStateBytes / kServers;
  for (size_t i = 0; i < kServers; ++i) {
    PlainFile file;
    file.path = absl::StrCat(bench.plain_directory, "/plain-", i);
    file.memory =
        bench.memory.mutable_bytes().subspan(i * kFileBytes, kFileBytes);
    files.push_back(file);
  }
  ThrowIfError(SettleDisk(bench.plain_directory));
  ReserveMemory();
  const double seconds = ValueOrThrow(WritePlain(files));
  for (const PlainFile& file : files) std::filesystem::remove(file.path);
  return seconds;
}

}  // namespace

std::vector<PlainFile> FilesOf(const CheckpointManager& checkpoints,
                               const std::string& name, Buffer& memory) {
  std::vector<PlainFile> files;
  MutableBytes left = memory.mutable_bytes();
  for (size_t i = 0; i < kServers; ++i) {
    PlainFile file;
    file.path = absl::StrCat(checkpoints.directory(), "/", name, "/server-", i,
                             ".safetensors");
    const size_t size = std::filesystem::file_size(file.path);
    if (size > left.size()) {
      throw Error(ErrorCode::kInternal,
                  absl::StrCat(file.path, " is larger than it should be"));
    }
    file.memory = left.first(size);
    left = left.subspan(size);
    files.push_back(file);
  }
  return files;
}

void MeasureWrite(Bench& bench, bool ours_first, Figures& figures) {
  if (ours_first) figures.write_time.push_back(TimeSave(bench));
  figures.plain_write_time.push_back(TimePlain(bench));
  if (!ours_first) figures.write_time.push_back(TimeSave(bench));
}

}  // namespace capstan::bench

// What does a checkpoint cost training, and how close do its files come to the
// speed of the disk?
//
//   bench_checkpoint --json FILE [--only shared,stream] [--rounds 3]
//                    [--directory DIR]
//
// Two servers hold 1 GiB (rows and dense variables, with Adam's slots); they
// and two workers each run in a process, with the coordinator in this one.
// shared: the servers can access the directory, and write and read it
// themselves; stream: they cannot, and everything goes through the coordinator.
// Figures are medians of the rounds; references are timed in the same rounds,
// alternating who is first.
//   pause_ratio       time during which nothing may run, after running work has
//                     ended / a memcpy of as many bytes by one thread
//   stall_ratio       the longest time without a finished step, from Save to
//                     the end of writing, including the drain and the copies
//                     that updates make of what is written / the same memcpy
//   background_ratio  steps/s from Save's return to Wait's / without a save,
//                     right before and after
//   memory_ratio      peak resident memory of a server from Save to the end of
//                     writing, during training / what it saves
//   write_ratio       write() and fsync() of as many bytes to two files at once
//                     / Save's return to Wait's, without training
//   read_ratio        read() of both files at once into memory already touched
//                     / Restore; the files are in the page cache
//   read_new_ratio    the same, into memory that the kernel has yet to supply
//                     and clear, as in a server's first restore
//   cold_read_ratio   read_ratio when the files are not in the page cache
//   verify_ms         how much longer a save takes if it must remove an old one
// Files go to a new directory in DIR, or beside this program, and are removed.
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "bench_checkpoint/job.h"
#include "bench_checkpoint/measure.h"
#include "bench_checkpoint/plain_files.h"
#include "harness/bench_program.h"

namespace capstan::bench {
namespace {

// Removed in the end, with all that it holds.
class TemporaryDirectory {
 public:
  static absl::StatusOr<TemporaryDirectory> Create(const std::string& in) {
    std::string path = absl::StrCat(in, "/checkpoints.XXXXXX");
    if (mkdtemp(path.data()) == nullptr) {
      return absl::ErrnoToStatus(errno, absl::StrCat("mkdtemp ", path));
    }
    return TemporaryDirectory(std::move(path));
  }
  TemporaryDirectory(TemporaryDirectory&& other) noexcept
      : path_(std::exchange(other.path_, "")) {}
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

absl::Status MeasureAll(const BenchProgram::Words& chosen, int rounds,
                        const std::string& in, Report& report) {
  for (const std::string& name : chosen) {
    const absl::StatusOr<TemporaryDirectory> directory =
        TemporaryDirectory::Create(in);
    if (!directory.ok()) return directory.status();
    const std::string disk = FileSystemName(directory->path());
    report.SetText("file_system", disk);
    report.PrintHeader(absl::StrCat("1 GiB, ", name, ", on ", disk), "Capstan");
    const absl::Status status = MeasureCheckpoints(
        directory->path(), name == "stream", rounds, name, report);
    CAPSTAN_RETURN_IF_ERROR(WithContext(status, name));
  }
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  using Words = BenchProgram::Words;
  BenchProgram program("bench_checkpoint",
                       "What a checkpoint costs, and how fast its files are",
                       {"shared", "stream"}, 3);
  std::error_code error;
  std::string directory =
      std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  program.app().add_option(
      "--directory", directory,
      "on which disk; 4 GiB are needed (default: this program's)");
  program.AddChild("task", {"cluster", "task", "root"}, [](const Words& words) {
    return RunTask(words[0], words[1], words[2]);
  });
  return program.Run(
      argc, argv,
      [&directory](const Words& chosen, int rounds, Report& report) {
        return MeasureAll(chosen, rounds, directory, report);
      });
}

}  // namespace
}  // namespace capstan::bench

int main(int argc, char** argv) { return capstan::bench::Main(argc, argv); }

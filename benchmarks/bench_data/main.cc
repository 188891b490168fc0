// How fast is the input pipeline, and how close to bare loops over memory?
//
//   bench_data --json FILE [--only csv,idx] [--rounds 9]
//
// Each figure is the median of `rounds` rounds, each of which times ours and
// its reference one right after the other, with one thread. Ratios are ours /
// bare, of rows or batches per second. Files are in the page cache.
//   csv  csv_ratio: Csv and Batch(512) of a file with 16 columns of numbers /
//        a loop over the same text in memory that calls fast_float::from_chars
//        for each number;
//        csv_ratio_criteo: the same for a file like Criteo's, with logarithms
//        of 13 numbers and 26 hashed categories, which the loop only skips
//   idx  idx_ratio: Idx, Shuffle(10,000) and Batch(64) of 60,000 images / a
//        loop that copies as many rows in a random order into new tensors;
//        idx_table_ratio: the same batches by number (ExampleTable)
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/status.h"
#include "bench_data/experiments.h"
#include "harness/bench_program.h"
#include "harness/report.h"

namespace capstan {
namespace {

// A directory that goes when this does.
class Scratch {
 public:
  Scratch()
      : path_((std::filesystem::temp_directory_path() / "bench_data.XXXXXX")
                  .string()) {
    ok_ = mkdtemp(path_.data()) != nullptr;
  }
  ~Scratch() {
    std::error_code ignored;
    if (ok_) std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  bool ok() const { return ok_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool ok_ = false;
};

absl::Status MeasureAll(const BenchProgram::Words& chosen, int rounds,
                        Report& report) {
  const Scratch scratch;
  if (!scratch.ok()) return absl::UnavailableError("no temporary directory");
  report.PrintHeader("the input pipeline, beside bare loops", "Capstan");
  for (const std::string& name : chosen) {
    absl::Status status;
    try {
      if (name == "csv") status = MeasureCsv(scratch.path(), rounds, report);
      if (name == "idx") status = MeasureIdx(scratch.path(), rounds, report);
    } catch (...) {
      status = StatusOfCurrentException();
    }
    CAPSTAN_RETURN_IF_ERROR(WithContext(status, name));
  }
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  BenchProgram program("bench_data",
                       "Capstan's input pipeline beside bare loops",
                       {"csv", "idx"}, 9);
  return program.Run(argc, argv, MeasureAll);
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) { return capstan::Main(argc, argv); }

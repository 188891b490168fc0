#include <fast_float/fast_float.h>

#include <cstddef>
#include <cstring>
#include <optional>
#include <string>

#include "base/error.h"
#include "bench_data/experiments.h"
#include "bench_data/files.h"
#include "bench_store/timing.h"
#include "capstan/dataset.h"

namespace capstan {
namespace {

constexpr std::int64_t kCsvBatch = 512;

// The cost of a loop over the text that only parses its numbers into floats.
// Skips fields from `words` on, which are not numbers. Returns the sum, so that
// the loop cannot be optimized away.
float WalkBare(const std::string& text, char delimiter, std::size_t columns,
               std::size_t words) {
  const char* p = text.data();
  const char* const end = p + text.size();
  float sum = 0;
  while (p != end) {
    for (std::size_t i = 0; i < columns; ++i) {
      if (i < words && *p != delimiter && *p != '\n') {
        float value = 0;
        p = fast_float::from_chars(p, end, value).ptr;
        sum += value;
      }
      while (*p != delimiter && *p != '\n') ++p;
      ++p;
    }
  }
  return sum;
}

// Reads all batches and returns the number of rows.
std::int64_t ReadRows(const Dataset& dataset, const char* column) {
  std::int64_t rows = 0;
  const Dataset::Source next = dataset.Open();
  while (const std::optional<Example> batch = next()) {
    rows += (*batch)[column].shape().num_rows();
  }
  return rows;
}

struct Experiment {
  std::string key;   // of the ratio
  std::string rows;  // of the rows/s
  std::string text;
  CsvOptions options;
  std::size_t columns;
  std::size_t words;
  const char* output;
};

absl::Status Measure(const Experiment& experiment, int expected,
                     const std::string& directory, int rounds, Report& report) {
  const std::string path = directory + "/" + experiment.key + ".csv";
  WriteFile(path, experiment.text);
  const Dataset dataset =
      Dataset::Csv(path, experiment.options).Batch(kCsvBatch);
  std::int64_t rows = 0;
  volatile float sum = 0;
  // The header has no numbers.
  const std::size_t begin =
      experiment.options.header ? experiment.text.find('\n') + 1 : 0;
  const std::string body = experiment.text.substr(begin);
  const auto times = TimeSideBySide(
      rounds,
      [&]() -> absl::StatusOr<double> {
        return SecondsOf([&] { rows = ReadRows(dataset, experiment.output); });
      },
      [&]() -> absl::StatusOr<double> {
        return SecondsOf([&] {
          sum = WalkBare(body, experiment.options.delimiter, experiment.columns,
                         experiment.words);
        });
      });
  if (!times.ok()) return times.status();
  if (rows != expected) {
    return absl::InternalError("rows were lost: " + std::to_string(rows));
  }
  const double ours = expected / times->ours;
  const double bare = expected / times->bare;
  report.Set(experiment.key, times->ratio);
  report.Set(experiment.rows, ours);
  report.Set("bare_" + experiment.rows, bare);
  report.PrintRow(experiment.key, "rows/s", ours, bare, times->ratio);
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureCsv(const std::string& directory, int rounds,
                        Report& report) {
  constexpr int kNumericRows = 200'000;
  constexpr int kCriteoRows = 100'000;
  Experiment numeric{.key = "csv_ratio",
                     .rows = "csv_rows_per_s",
                     .text = NumericCsv(kNumericRows),
                     .options = {},
                     .columns = 16,
                     .words = 16,
                     .output = "x"};
  for (int i = 0; i < 16; ++i) {
    numeric.options.columns.push_back(
        {.name = "c" + std::to_string(i), .output = "x"});
  }
  const Experiment criteo{.key = "csv_ratio_criteo",
                          .rows = "criteo_rows_per_s",
                          .text = CriteoTsv(kCriteoRows),
                          .options = CsvOptions::Criteo(100'000),
                          .columns = 40,
                          .words = 14,
                          .output = "ids"};
  CAPSTAN_RETURN_IF_ERROR(
      Measure(numeric, kNumericRows, directory, rounds, report));
  return Measure(criteo, kCriteoRows, directory, rounds, report);
}

}  // namespace capstan

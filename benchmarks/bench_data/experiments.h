// The experiments of bench_data; main.cc says what they measure.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "harness/report.h"

namespace capstan {

// `directory` is for files of the experiment.
absl::Status MeasureCsv(const std::string& directory, int rounds,
                        Report& report);
absl::Status MeasureIdx(const std::string& directory, int rounds,
                        Report& report);

}  // namespace capstan

// The experiments of bench_dispatch; main.cc says what they measure.
#pragma once

#include "absl/status/status.h"
#include "harness/report.h"

namespace capstan {

absl::Status MeasureSpeed(int rounds, Report& report);
absl::Status MeasureScaling(int rounds, Report& report);
absl::Status MeasureMemory(Report& report);
absl::Status MeasureLoss(int rounds, Report& report);

}  // namespace capstan

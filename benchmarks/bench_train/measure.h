// The experiments.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "harness/report.h"

namespace capstan::bench {

absl::Status MeasureBlas(Report& report);
// Examples per second of a custom loop of "mlp" or "clicks", or of "fit", with
// all tasks placed by the kernel.
absl::StatusOr<double> MeasureRate(const std::string& what, int workers);

absl::Status MeasureMlp(int rounds, Report& report);
absl::Status MeasureClicks(int rounds, Report& report);
absl::Status MeasureAccuracy(int rounds, Report& report);

}  // namespace capstan::bench

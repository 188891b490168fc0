// What bench_store measures; main.cc names the figures.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "base/async/clock.h"
#include "bench_store/store_client.h"
#include "harness/exchange.h"
#include "harness/report.h"

namespace capstan {

// Pull and push of whole variables, next to bare sockets.
absl::Status MeasureDense(StoreClient& client, Contender& bare, int rounds,
                          Report& report);

// A thousand small variables next to one of the same total size.
absl::Status MeasureManySmall(StoreClient& client, int rounds, Report& report);

// Rows of tables, next to a gather in this process.
absl::Status MeasureRows(StoreClient& client, int rounds, Report& report);

// Each optimizer's update of a large array, next to the machine's memory speed.
absl::Status MeasureKernels(int rounds, Report& report);

// One server thread against two, in this process.
absl::Status MeasureThreads(int rounds, Report& report);

// How evenly a model is spread over four servers.
absl::Status MeasureBalance(Report& report);

}  // namespace capstan

#include "bench_dispatch/functions.h"

#include <chrono>

namespace capstan {
namespace {

int Compute(WorkerContext& worker, std::int64_t microseconds) {
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::microseconds(microseconds);
  while (std::chrono::steady_clock::now() < end) {
  }
  return worker.worker_index();
}

void WaitForever(WorkerContext& worker) {
  worker.SleepFor(std::chrono::hours(1));
}

}  // namespace

BenchFunctions::BenchFunctions(Definitions& definitions)
    : nothing(definitions.AddFunction("nothing", [] {})),
      compute(definitions.AddFunction("compute", Compute)),
      wait(definitions.AddFunction("wait", WaitForever)) {}

}  // namespace capstan

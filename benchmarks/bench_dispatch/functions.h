// What the workers of the benchmark run.
#pragma once

#include <cstdint>

#include "capstan/worker.h"

namespace capstan {

struct BenchFunctions {
  explicit BenchFunctions(Definitions& definitions);

  Function<void> nothing;
  // Computes for this many microseconds; returns the worker's index.
  Function<int, std::int64_t> compute;
  // Waits until it is cancelled.
  Function<void> wait;
};

}  // namespace capstan

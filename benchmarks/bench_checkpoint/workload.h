// What is saved, and the training that goes on beside it.
#pragma once

#include <cstdint>
#include <vector>

#include "capstan/variable.h"
#include "capstan/worker.h"

namespace capstan::bench {

// Two tables of rows and three dense variables, each with Adam: values and two
// slots together are 1 GiB, but for 64 bytes.
std::vector<VariableSpec> SavedVariables();
inline constexpr std::uint64_t kStateBytes = (std::uint64_t{1} << 30) - 64;

// The gradients that a worker sends, step after step.
struct Gradients {
  std::vector<VariableUpdate> dense;
  Tensor rows;  // of either table
};

struct Workload {
  explicit Workload(Definitions& program);

  Resource<Gradients> gradients;
  // Reads the dense variables and random rows of both tables, and sends
  // gradients for all that it has read, in one update.
  Function<void, PerWorker<Gradients>> step;
};

}  // namespace capstan::bench

// What is saved, and the training that runs meanwhile.
#pragma once

#include <cstdint>
#include <vector>

#include "capstan/variable.h"
#include "capstan/worker.h"

namespace capstan::bench {

// Two tables of rows and three dense variables, each with Adam: values and two
// slots together are 64 bytes short of 1 GiB.
std::vector<VariableSpec> SavedVariables();
inline constexpr std::uint64_t kStateBytes = (std::uint64_t{1} << 30) - 64;

// The gradients that a worker sends in every step.
struct Gradients {
  std::vector<VariableUpdate> dense;
  Tensor rows;  // for either table
};

struct Workload {
  explicit Workload(Definitions& program);

  Resource<Gradients> gradients;
  // Reads the dense variables and random rows of both tables, and sends
  // gradients for everything it has read in one update.
  Function<void, PerWorker<Gradients>> step;
};

}  // namespace capstan::bench

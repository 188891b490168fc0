// The program of a worker node in the exact_digits workload.
#pragma once

#include <cstddef>

#include "base/async/task.h"
#include "simulate/digits/digit_context.h"

namespace capstan::simulate {

// Runs steps until the workload is over: for each it reads, computes for a
// while and sends its updates.
Task<> RunDigitWorker(DigitContext& context, SimNode& node, size_t index);

}  // namespace capstan::simulate

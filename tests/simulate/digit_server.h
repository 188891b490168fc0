// The program of a server node in the exact_digits workload.
#pragma once

#include <cstddef>

#include "base/task.h"
#include "simulate/digit_context.h"

namespace capstan::simulate {

// Runs until the node is killed, which it must not be while anybody counts on
// it: what it holds is in its memory alone.
Task<> RunDigitServer(DigitContext& context, SimNode& node, size_t index);

}  // namespace capstan::simulate

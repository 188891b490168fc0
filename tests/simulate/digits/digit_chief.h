// The program of the coordinator's node in the exact_digits workload.
#pragma once

#include "base/async/task.h"
#include "simulate/digits/digit_context.h"

namespace capstan::simulate {

// Starts generations and terms, commits rounds and advances the watermark. When
// the workload finishes, waits for the last step, has the final values judged,
// and then sets `context.over`. Runs once: the node must not be killed.
Task<> RunDigitChief(DigitContext& context, SimNode& node);

}  // namespace capstan::simulate

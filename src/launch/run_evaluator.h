// The evaluator in this process.
#pragma once

#include "capstan/worker.h"
#include "launch/local/task_options.h"

namespace capstan {

// Acts as the evaluator until the job has ended and `definitions`' evaluator
// has returned; returns the process's exit code. Without an evaluator function
// it only takes part in the job, like any task. Prints errors on standard
// error.
int RunEvaluatorTask(const TaskOptions& options,
                     const Definitions& definitions);

}  // namespace capstan

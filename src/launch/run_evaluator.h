// The evaluator in this process.
#pragma once

#include "capstan/worker.h"
#include "launch/local/task_options.h"

namespace capstan {

// Plays the role of an evaluator until the job is over and `definitions`'
// evaluator has returned; the process's exit code. Without one it only is
// there, as any task. Errors are said on standard error.
int RunEvaluatorTask(const TaskOptions& options,
                     const Definitions& definitions);

}  // namespace capstan

// The WorkerContext of one run of a function: a blocking wrapper of its Step.
#pragma once

#include "base/async/task.h"
#include "capstan/worker.h"
#include "worker/compute_runner.h"
#include "worker/step.h"

namespace capstan {

struct WorkerContext::Impl {
  Executor executor;
  Step& step;
  const ComputeRunnerOptions& options;
};

class WorkerContextHost {
 public:
  // For a thread other than the executor's, which keeps running meanwhile. What
  // is passed by reference must outlive this object.
  WorkerContextHost(const Executor& executor, Step& step,
                    const ComputeRunnerOptions& options)
      : impl_{executor, step, options}, context_(impl_) {}

  WorkerContext& context() { return context_; }

 private:
  WorkerContext::Impl impl_;
  WorkerContext context_;
};

}  // namespace capstan

// What a ClusterCoordinator has in common with the others of its cluster.
#pragma once

#include <memory>
#include <mutex>

#include "base/task.h"
#include "capstan/coordinator.h"
#include "coordinator/dispatcher.h"

namespace capstan {

// Made once for a cluster, by launch/. The dispatcher outlives its use.
struct ClusterCoordinator::Impl {
  Impl(const Executor& executor_in, Dispatcher& dispatcher_in)
      : executor(executor_in), dispatcher(dispatcher_in) {}

  const Executor executor;  // which another thread runs
  Dispatcher& dispatcher;
  std::mutex changing;  // variables are made and dropped by one at a time
};

struct CoordinatorMaker {
  using Impl = ClusterCoordinator::Impl;
  // InvalidArgument, naming the field.
  static absl::StatusOr<DispatcherOptions> CheckOptions(
      const CoordinatorOptions& options);
};

}  // namespace capstan

// What a ClusterCoordinator has in common with the others of its cluster.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

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
  // Shared by updates that are no closures; a checkpoint is cut without any.
  std::shared_mutex applying;
  // The directory for checkpoints that servers see too; empty if there is none.
  std::string checkpoint_root;
  // Whether a Fit has begun with a checkpoint. The program's thread's.
  bool fit_has_restored = false;
  // Called with the names of variables that were made; guarded by `changing`,
  // as is who has set it.
  std::function<absl::Status(const std::vector<std::string>&)> on_created;
  const void* on_created_of = nullptr;
};

struct CoordinatorMaker {
  using Impl = ClusterCoordinator::Impl;
  // InvalidArgument, naming the field.
  static absl::StatusOr<DispatcherOptions> CheckOptions(
      const CoordinatorOptions& options);
  // For other layers that work with the dispatcher.
  static std::shared_ptr<Impl> ImplOf(const ClusterCoordinator& coordinator);
};

}  // namespace capstan

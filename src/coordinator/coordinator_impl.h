// State shared by all ClusterCoordinators of a cluster.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <vector>

#include "base/async/task.h"
#include "capstan/coordinator.h"
#include "coordinator/dispatcher.h"
#include "coordinator/written_directory.h"

namespace capstan {

// The checkpoint that a Fit started from, and what was in it.
struct FitOrigin {
  std::string name;  // empty: none
  std::map<std::string, std::string> records;
  std::set<std::string> restored;  // the variables
};
struct FitOrigins {
  // By directory, as it was when the first Fit of this program used it:
  // anything saved later was saved by this program.
  std::map<std::string, FitOrigin> by_directory;
  // Whether the servers had trained before this program started; unset: no Fit
  // has asked yet.
  std::optional<bool> servers_had_trained;
  // Whether a Fit has begun: from then on the servers hold values that are
  // newer than any earlier checkpoint.
  bool begun = false;
};

// Made once per cluster, by launch/. The dispatcher must outlive its use.
struct ClusterCoordinator::Impl {
  Impl(const Executor& executor_in, Dispatcher& dispatcher_in)
      : executor(executor_in), dispatcher(dispatcher_in) {}

  const Executor executor;  // run by another thread
  Dispatcher& dispatcher;
  std::mutex changing;  // one creates or drops variables at a time
  // Whether it is known what an earlier coordinator left on the servers.
  std::atomic<bool> begun = false;
  // Held shared by updates that do not come from closures; held exclusively
  // while a snapshot is taken or values are replaced.
  std::shared_mutex applying;
  // The checkpoint directory that servers see too; empty if there is none.
  std::string checkpoint_root;
  // What the Fits of this program start from. For the program's thread only.
  FitOrigins origins;
  // The directories that CheckpointManagers write to.
  WrittenDirectories written_directories;
  // Called with the names of new variables. Guarded by `changing`, as is
  // on_created_of: the manager that set it.
  std::function<absl::Status(const std::vector<std::string>&)> on_created;
  const void* on_created_of = nullptr;
};

struct CoordinatorMaker {
  using Impl = ClusterCoordinator::Impl;
  // InvalidArgument, naming the field.
  static absl::StatusOr<DispatcherOptions> CheckOptions(
      const CoordinatorOptions& options);
  // For other layers that use the dispatcher.
  static std::shared_ptr<Impl> ImplOf(const ClusterCoordinator& coordinator);
};

}  // namespace capstan

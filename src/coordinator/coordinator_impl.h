// What a ClusterCoordinator has in common with the others of its cluster.
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

// The checkpoint that a Fit has begun with, and what was in it.
struct FitOrigin {
  std::string name;  // empty: there is none
  std::map<std::string, std::string> records;
  std::set<std::string> restored;  // the variables
};
struct FitOrigins {
  // By directory, as it was when the first Fit of this program came to it: what
  // is saved later is what this program has done itself.
  std::map<std::string, FitOrigin> by_directory;
  // Whether the servers had trained when this program began; unset: no Fit has
  // asked yet.
  std::optional<bool> servers_had_trained;
  // Whether a Fit has begun: what the servers hold then is newer than any
  // checkpoint of before.
  bool begun = false;
};

// Made once for a cluster, by launch/. The dispatcher outlives its use.
struct ClusterCoordinator::Impl {
  Impl(const Executor& executor_in, Dispatcher& dispatcher_in)
      : executor(executor_in), dispatcher(dispatcher_in) {}

  const Executor executor;  // which another thread runs
  Dispatcher& dispatcher;
  std::mutex changing;  // variables are made and dropped by one at a time
  // Whether it is known what a coordinator before this one has left.
  std::atomic<bool> begun = false;
  // Shared by updates that are no closures; a checkpoint is cut without any.
  std::shared_mutex applying;
  // The directory for checkpoints that servers see too; empty if there is none.
  std::string checkpoint_root;
  // What the Fits of this program begin with. The program's thread's.
  FitOrigins origins;
  // Those that managers of checkpoints write to.
  WrittenDirectories written_directories;
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

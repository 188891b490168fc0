// How launch/ creates the handle that users see.
#pragma once

#include <memory>

#include "capstan/cluster.h"
#include "launch/coordinator_task.h"

namespace capstan {

struct ClusterMaker {
  // `task` must outlive the cluster.
  static std::unique_ptr<Cluster> Make(CoordinatorTask& task);
  static CoordinatorTask& TaskOf(Cluster& cluster);
};

// The entry as users see it. InvalidArgument if it does not name a task.
absl::StatusOr<TaskInfo> ToTaskInfo(const TaskEntry& entry);

}  // namespace capstan

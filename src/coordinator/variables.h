// The variables of a job as its coordinator has them: makes and drops them, and
// knows which history they are of.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/task.h"
#include "capstan/partitioner.h"
#include "capstan/variable.h"
#include "client/parameter_client.h"
#include "coordinator/closure_queue.h"
#include "variable/shard_map.h"

namespace capstan {

// What the update modes of variables ask for together. InvalidArgument, naming
// two that contradict one another.
absl::StatusOr<RoundRules> RulesOf(std::span<const VariableEntry> entries);

// Lives on the client's executor. One call of Create or Drop at a time.
class JobVariables {
 public:
  // What is passed by reference must outlive it. `term` is the coordinator's.
  JobVariables(ParameterClient& client, ClosureQueue& queue,
               std::function<uint64_t()> term);

  // Adds variables to those that there are. The first call begins a new
  // generation: what a coordinator before this one had on the servers is gone.
  // Errors of AddVariables, RulesOf and Install; FailedPrecondition for other
  // rules after rounds have begun. What there was is there again then.
  Task<absl::Status> Create(std::vector<VariableSpec> specs,
                            Partitioner partitioner);
  Task<absl::Status> Drop(std::vector<std::string> names);
  // Errors of SetLearningRate (variable/shard_map.h) and Install.
  Task<absl::Status> ChangeLearningRate(std::vector<std::string> names,
                                        LearningRate rate);

  // As in client/by_name.h; an update is a step of its own.
  Task<absl::StatusOr<std::vector<Tensor>>> Read(
      std::vector<std::string> names);
  Task<absl::StatusOr<Tensor>> ReadRows(std::string name,
                                        std::vector<int64_t> ids);
  Task<absl::StatusOr<UpdateResult>> Apply(Operation operation,
                                           std::vector<VariableUpdate> updates);

  // Added up over all shards.
  Task<absl::StatusOr<std::vector<uint64_t>>> Staleness();

  // Tells the servers how far the job is; OK if there is nothing to tell.
  // Cancelled by `cancellation`, which may be null.
  Task<absl::Status> MoveWatermark(uint64_t watermark,
                                   Cancellation* cancellation);

  // Of what is sent to the servers now.
  Fence fence() const;
  bool any() const { return !map_.entries().empty(); }
  const ShardMap& map() const { return map_; }

 private:
  Task<absl::Status> BeginGeneration();
  Task<absl::Status> Install(ShardMap map);

  ParameterClient& client_;
  ClosureQueue& queue_;
  const std::function<uint64_t()> term_;
  uint64_t generation_ = 0;
  uint64_t watermark_ = 0;  // that the servers know
  ShardMap map_;
};

}  // namespace capstan

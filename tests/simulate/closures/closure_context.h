// What the nodes of the closures workload share.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "client/parameter_client.h"
#include "simulate/closures/closure_judge.h"
#include "simulate/closures/closure_options.h"
#include "simulate/closures/closure_variables.h"
#include "simulate/workload.h"
#include "simulation/sim_world.h"
#include "wire/membership.h"

namespace capstan::simulate {

struct ClosureContext {
  SimWorld& world;
  const ClosureOptions& options;
  const Plant plant;
  const ClosureVariables& variables;
  ClosureJudge judge;
  Random random;  // of what happens outside of the nodes
  // Tells the coordinator what its roster would; empty when there is none.
  std::function<void(const TaskEntry&)> on_task = nullptr;
  // By worker: when the coordinator hears the last that there is to hear of it,
  // and whether that is that it has left the job.
  struct News {
    MonotonicTime last = MonotonicTime::min();
    bool left = false;
    // The newest that there is to say of it.
    std::optional<TaskEntry> entry = std::nullopt;
  };
  std::vector<News> news = {};
  // Where the coordinator is killed: whether some life has made the variables,
  // and by server the newest record that it was seen to have.
  bool variables_made = false;
  std::vector<uint64_t> newest_records = {};
  // What the program waits for, for messages.
  std::string progress = "the program does not begin";
  // No more faults and nothing new: what there is must come to its end.
  bool finishing = false;
  // It has.
  bool over = false;
};

std::string ClosureServerAddress(size_t index);
std::string ClosureWorkerAddress(size_t index);
std::string ClosureWorkerTask(size_t index);

// A channel from `node`, which is task `role`/`index`, to `task`.
// `fail_if_refused` as in ChannelOptions.
std::unique_ptr<Channel> NewClosureChannel(SimNode& node,
                                           const std::string& role,
                                           size_t index,
                                           const std::string& task,
                                           const std::string& address,
                                           bool fail_if_refused = false);
// A client of all servers, with the planted bug if it sits there.
std::unique_ptr<ParameterClient> NewClosureClient(ClosureContext& context,
                                                  SimNode& node,
                                                  const std::string& role,
                                                  size_t index);

// The coordinator will hear of a worker's new state, some time from now. One
// that has left and is back joins anew.
void TellOfWorker(ClosureContext& context, size_t index, TaskState state,
                  uint64_t incarnation);

// A coordinator that has just begun will hear of all workers.
void TellOfAllWorkers(ClosureContext& context);

// Kills the process of `node`, as it is now, from outside of it, and starts it
// again after up to `away`. Safe to call on the node.
void KillSoon(ClosureContext& context, SimNode& node, Duration away);

}  // namespace capstan::simulate

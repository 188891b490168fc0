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
  Random random;  // for events outside the nodes
  // Gives the coordinator the news that its roster would; empty if there is
  // none.
  std::function<void(const TaskEntry&)> on_task = nullptr;
  // By worker: when the coordinator hears the last news of it, and whether that
  // is that it has left the job.
  struct News {
    MonotonicTime last = MonotonicTime::min();
    bool left = false;
    // The latest news of it.
    std::optional<TaskEntry> entry = std::nullopt;
  };
  std::vector<News> news = {};
  // If the coordinator may be killed: whether any of its lives has created the
  // variables, and by server the newest record seen on it.
  bool variables_made = false;
  std::vector<uint64_t> newest_records = {};
  // What the program is waiting for, for messages.
  std::string progress = "the program does not begin";
  // No more faults and nothing new: outstanding work must finish.
  bool finishing = false;
  // It has finished.
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
// A client of all servers, with the planted bug if it belongs there.
std::unique_ptr<ParameterClient> NewClosureClient(ClosureContext& context,
                                                  SimNode& node,
                                                  const std::string& role,
                                                  size_t index);

// The coordinator will hear of a worker's new state after some time. A worker
// that left and is back joins again.
void TellOfWorker(ClosureContext& context, size_t index, TaskState state,
                  uint64_t incarnation);

// A coordinator that has just started will hear of all workers.
void TellOfAllWorkers(ClosureContext& context);

// Kills the current process of `node`, from outside it, and restarts it after
// up to `away`. Safe to call on the node.
void KillSoon(ClosureContext& context, SimNode& node, Duration away);

}  // namespace capstan::simulate

// The conductor: one link for each worker, the queue they take from, and what
// has to be told to the servers as steps end.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/async/cancellation.h"
#include "base/async/clock.h"
#include "base/async/task.h"
#include "base/log.h"
#include "base/random.h"
#include "client/parameter_client.h"
#include "coordinator/closure/closure_queue.h"
#include "coordinator/resource_registry.h"
#include "coordinator/variables.h"
#include "coordinator/worker_link.h"
#include "wire/channel.h"
#include "wire/closure.h"
#include "wire/membership.h"

namespace capstan {

struct DispatcherOptions {
  size_t queue_capacity = size_t{256} * 1024;
  size_t poison_limit = 3;
  uint32_t queued_per_worker = 2;
  uint64_t result_limit = uint64_t{1} << 30;
  // How long work may wait without a single worker before it fails.
  Duration no_worker_timeout = std::chrono::seconds(60);
  // How long a server that does not answer, and may be only paused, is waited
  // for before it counts as lost.
  Duration server_timeout = std::chrono::seconds(60);
  // While there is no worker, or a server is silent, it says so this often.
  Duration reminder = std::chrono::seconds(5);
  // If nothing finishes for so long although something runs, it says what each
  // task waits for. 0: never.
  Duration watchdog = std::chrono::seconds(60);
  // A worker that has been away for so long has no input pipeline until it is
  // back.
  Duration away_timeout = std::chrono::seconds(60);
  // Whether to go on with what another coordinator has left on the servers.
  bool attach = true;
  // Whether to begin without servers that do not answer, as JobVariables says.
  bool begin_without_servers = false;
  // What the program defines: a worker must define the same. Null: not
  // compared.
  std::shared_ptr<const ProgramDefinitions> definitions;
  // Where Then callbacks run; null: on the executor.
  std::function<void(std::function<void()>)> run_callback;
  // Called when something changed that Try calls of the queue wait for.
  std::function<void()> on_change;
};

// Lives on one executor, but for what is said to be thread-safe.
class Dispatcher {
 public:
  using NewChannel = std::function<std::unique_ptr<Channel>(
      const std::string& task, const std::string& address)>;

  // `coordinator_term` is the coordinator's now. `client` lives on the
  // executor. What is passed by reference must outlive it.
  Dispatcher(Clock& clock, Logger logger, const Executor& executor,
             std::function<CoordinatorTerm()> coordinator_term,
             ParameterClient& client, NewChannel new_channel, Random random,
             DispatcherOptions options);
  // After Stop.
  ~Dispatcher();

  void Start();
  // Gives up all that runs, and ends. What waits in the queue fails.
  Task<> Stop();

  // What the roster knows of a task: a worker is attached to, a lost server
  // fails the job. A silent one is to be told of again while it is silent.
  void OnTask(const TaskEntry& entry);

  // Thread-safe.
  ClosureQueue& queue();
  // To be kept by those who may ask for results when this is gone.
  std::shared_ptr<ClosureQueue> shared_queue();
  ResourceRegistry& resources();
  // Of this dispatcher; brought up to date a few times per second.
  MetricsRegistry& metrics();

  JobVariables& variables();
  const Logger& logger() const;

  // Cancelled when a server is lost: for what would wait long for its answer.
  std::shared_ptr<Cancellation> until_lost() const;
  // As those of JobVariables; the loss of a server ends them, with its error.
  Task<absl::StatusOr<UpdateResult>> Apply(Operation operation,
                                           std::vector<VariableUpdate> updates);
  Task<absl::Status> Publish();
  // The first server that is lost or has lost its variables; OK if none.
  absl::Status LostServer() const;
  // Servers that the job has gone on without, and that answer again.
  std::vector<std::string> ReturnedServers() const;
  // After one or the other: waits until all servers answer, makes the variables
  // anew and lets the queue go on. After `timeout` the variables are made on
  // the servers that do answer, if `go_on_without`; else it is
  // DeadlineExceeded, naming a server. FailedPrecondition if no server has lost
  // anything, and none is back or functions are queued. Returns the servers
  // that the job goes on without.
  Task<absl::StatusOr<std::vector<std::string>>> Recover(Duration timeout,
                                                         bool go_on_without);

  DispatchReport Report() const;

  // The same, for messages: what keeps it from continuing, such as "no worker
  // is ready: worker/0 (connection refused)"; empty if nothing does.
  std::string Obstacle() const;

 private:
  class Core;
  const std::shared_ptr<Core> core_;
};

}  // namespace capstan

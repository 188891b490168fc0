// The dispatcher: a link to each worker, the queue that the links take closures
// from, and the requests to the servers that become due as steps end.
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
  // How long work may wait while there is no worker before it fails.
  Duration no_worker_timeout = std::chrono::seconds(60);
  // How long to wait for a server that does not answer, and may only be paused,
  // before it counts as lost.
  Duration server_timeout = std::chrono::seconds(60);
  // How often to log that there is no worker or that a server is silent.
  Duration reminder = std::chrono::seconds(5);
  // If nothing finishes for this long although something is running, logs what
  // each task is waiting for. 0: never.
  Duration watchdog = std::chrono::seconds(60);
  // A worker that has been away for this long loses its input pipeline until it
  // returns.
  Duration away_timeout = std::chrono::seconds(60);
  // Whether to resume from what another coordinator left on the servers.
  bool attach = true;
  // Whether to begin without servers that do not answer; see JobVariables.
  bool begin_without_servers = false;
  // What the program defines; a worker must define the same. Null: not
  // compared.
  std::shared_ptr<const ProgramDefinitions> definitions;
  // Where Then callbacks run; null: on the executor.
  std::function<void(std::function<void()>)> run_callback;
  // Called when something changed that Try calls of the queue may be waiting
  // for.
  std::function<void()> on_change;
};

// Lives on one executor, except for methods that are said to be thread-safe.
class Dispatcher {
 public:
  using NewChannel = std::function<std::unique_ptr<Channel>(
      const std::string& task, const std::string& address)>;

  // `coordinator_term` returns the coordinator's current term. `client` lives
  // on the executor. References must outlive the dispatcher.
  Dispatcher(Clock& clock, Logger logger, const Executor& executor,
             std::function<CoordinatorTerm()> coordinator_term,
             ParameterClient& client, NewChannel new_channel, Random random,
             DispatcherOptions options);
  // After Stop.
  ~Dispatcher();

  void Start();
  // Gives up everything that is running, and ends. What is queued fails.
  Task<> Stop();

  // The roster's state of a task: the dispatcher attaches to a worker; a lost
  // server fails the job. While a server is silent, call this repeatedly.
  void OnTask(const TaskEntry& entry);

  // Thread-safe.
  ClosureQueue& queue();
  // For those who may ask for results after the dispatcher is gone.
  std::shared_ptr<ClosureQueue> shared_queue();
  ResourceRegistry& resources();
  // Of this dispatcher; updated a few times per second.
  MetricsRegistry& metrics();

  JobVariables& variables();
  const Logger& logger() const;

  // Cancelled when a server is lost; for calls that might wait long for its
  // answer.
  std::shared_ptr<Cancellation> until_lost() const;
  // As in JobVariables; the loss of a server ends them with its error.
  Task<absl::StatusOr<UpdateResult>> Apply(Operation operation,
                                           std::vector<VariableUpdate> updates);
  Task<absl::Status> Publish();
  // The first server that is lost or has lost its variables; OK if none.
  absl::Status LostServer() const;
  // Servers that the job continued without and that answer again.
  std::vector<std::string> ReturnedServers() const;
  // After either of these: waits until all servers answer, creates the
  // variables again and lets the queue continue. After `timeout`, if
  // `go_on_without`, creates the variables on the servers that do answer; else
  // DeadlineExceeded, naming a server. FailedPrecondition if no server has lost
  // anything and either none has returned or functions are queued or running.
  // Returns the servers that the job continues without.
  Task<absl::StatusOr<std::vector<std::string>>> Recover(Duration timeout,
                                                         bool go_on_without);

  DispatchReport Report() const;

  // For messages: what keeps the job from continuing, such as "no worker is
  // ready: worker/0 (connection refused)"; empty if nothing does.
  std::string Obstacle() const;

 private:
  class Core;
  const std::shared_ptr<Core> core_;
};

}  // namespace capstan

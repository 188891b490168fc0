// The coordinator's side of one worker: attaches to it, has it make the
// resources that it needs, sends it closures, and gives them back to the queue
// if the worker is lost.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/async/backoff.h"
#include "base/async/cancellation.h"
#include "base/async/clock.h"
#include "base/async/event.h"
#include "base/async/task.h"
#include "base/log.h"
#include "coordinator/closure/closure_queue.h"
#include "coordinator/closure/latency_window.h"
#include "coordinator/dispatch_metrics.h"
#include "coordinator/resource_registry.h"
#include "wire/channel.h"
#include "wire/closure.h"
#include "wire/program.h"

namespace capstan {

// Shared by all links of a coordinator. Outlives them.
struct LinkContext {
  Clock& clock;
  Logger logger;
  Executor executor;
  ClosureQueue& queue;
  const ResourceRegistry& resources;
  DispatchMetrics& metrics;
  // How many closures a worker gets beyond those that it runs.
  uint32_t queued_per_worker = 2;
  // Limit on the bytes of tensors in a result.
  uint64_t result_limit = uint64_t{1} << 30;
  // What the program defines; the worker must define the same. Null: not
  // compared.
  std::shared_ptr<const ProgramDefinitions> definitions;
  // Return the coordinator's current term and fence.
  std::function<CoordinatorTerm()> coordinator_term;
  std::function<Fence()> fence;
  // The number of workers.
  std::function<int()> num_workers;
  // The current input pipeline of worker `index`.
  std::function<InputContext(int index)> pipeline;
  // A worker has attached, perhaps after a long absence.
  std::function<void()> on_attached;
  // Greater than all sessions so far.
  std::function<uint64_t()> next_session;
  // How many workers have a free thread or may become ready soon.
  std::function<size_t()> num_idle;
  // Whether the coordinator does not hear from that server either.
  std::function<bool(const std::string& task)> is_away;
  // Another link may have something to do.
  std::function<void()> on_ready;
};

// Lives on the context's executor. Held by a shared_ptr.
class WorkerLink : public std::enable_shared_from_this<WorkerLink> {
 public:
  // `task` is "worker/3".
  WorkerLink(LinkContext& context, std::string task, int index,
             std::unique_ptr<Channel> channel, Random random);

  void Start();
  // Gives its closures back, and ends. The channel is closed.
  Task<> Stop();

  // The roster says that the worker is up: tries to attach now.
  void Nudge();
  // The roster says that the worker does not answer: probes it, and loses it if
  // that is so. A link that is waiting for no answer does not notice by itself,
  // and its next call would wait for the worker to come back.
  void OnUnreachable();
  // Resources were added or removed, or input pipelines have changed.
  void OnResources();

  // Whether it could take another closure, and how many it has.
  bool CanTake() const;
  size_t in_flight() const;
  // Takes one closure from the queue and sends it. False if there is none.
  bool TakeOne();

  // How many more closures it would run at once if it got them.
  size_t free_places() const;
  // Recalls the newest closure that was sent up to `since` and, as far as is
  // known here, has not started. False if there is none.
  bool Recall(MonotonicTime since);
  // Gives back a suspect that is held here until the worker has nothing else.
  void GiveBackHeld();

  // Tells the worker to end all closures, or one if it has it.
  void CancelAll();
  void CancelStep(uint64_t step);

  // Asks the worker what it is doing.
  Task<absl::StatusOr<WorkerReport>> Ask(Duration timeout);

  LinkReport Report() const;
  const std::string& task() const { return task_; }
  int index() const { return index_; }
  // Whether it counts for the input pipelines: it is attached, or has been away
  // for less than `patience`.
  bool Counts(Duration patience) const;
  // Whether the worker is attached, and whether it can be given closures.
  bool attached() const { return session_ != nullptr; }
  bool ready() const { return session_ != nullptr && prepared_; }

 private:
  using ClosurePtr = ClosureQueue::ClosurePtr;

  // For requests that are answered at once.
  static constexpr Duration kShort = std::chrono::seconds(5);
  // A function or the creation of a resource may take any time; the wait ends
  // with its end, a cancellation, or the loss of the worker.
  static constexpr Duration kForever = std::chrono::hours(24 * 365);

  // Whether an error is about the call rather than the worker.
  static bool IsOfTheCall(const absl::Status& status);

  struct Flight {
    ClosurePtr closure;
    MonotonicTime since;
    bool recalled = false;
  };
  // A resource that the worker was told to make.
  struct Resource {
    absl::Status status;
    InputContext input;
  };
  // From attaching to the loss of the worker.
  struct Session {
    uint64_t number = 0;
    uint64_t incarnation = 0;
    AttachReply reply;
    // Index in the reply, by name.
    absl::flat_hash_map<std::string, uint32_t> functions;
    Cancellation cancellation;  // of all calls
    std::map<uint64_t, Flight> in_flight;
    absl::Status lost;     // not OK: the session has ended
    bool leaving = false;  // the worker is leaving the job
    bool alone = false;    // it runs a suspect and nothing else
    std::map<uint64_t, Resource> made;
    // The resource that the worker is making now; null if none.
    std::shared_ptr<const ResourceInfo> making;
    MonotonicTime making_since;
  };
  using SessionPtr = std::shared_ptr<Session>;

  static Task<> Run(std::shared_ptr<WorkerLink> self);
  static Task<> RunOne(std::shared_ptr<WorkerLink> self, SessionPtr session,
                       ClosurePtr closure, RunRequest request);
  static Task<> SendCancel(std::shared_ptr<WorkerLink> self, SessionPtr session,
                           std::vector<uint64_t> steps, bool unless_started);
  static Task<> Probe(std::shared_ptr<WorkerLink> self, SessionPtr session);
  // A small request.
  Task<absl::StatusOr<Reply>> CallWorker(Method method, std::string body,
                                         Duration timeout,
                                         Cancellation* cancellation);
  Task<absl::Status> Attach();
  // Whether the worker runs the program of the job.
  absl::Status CheckProgram(const AttachReply& reply) const;
  // Makes missing resources and drops superfluous ones.
  Task<> MakeResources(SessionPtr session);
  Task<absl::Status> MakeOne(SessionPtr session, uint64_t id,
                             std::shared_ptr<const ResourceInfo> info,
                             InputContext input);
  // The context in which datasets are made now.
  InputContext Input() const;
  Task<> Pause(Duration duration);
  // Whether the worker was told to make the resource and, if that is an input
  // pipeline, with the current context.
  bool IsMade(const Session& session, uint64_t id,
              const ResourceInfo& info) const;
  // Whether that is so of all resources, and the worker has no others.
  bool HasResources(const Session& session) const;

  void Fill();
  void Send(const SessionPtr& session, const ClosurePtr& closure);
  absl::StatusOr<uint32_t> FindFunction(const Session& session,
                                        const FunctionInfo& function) const;
  absl::Status CheckInputs(const Session& session,
                           const Closure& closure) const;
  void OnAnswer(const SessionPtr& session, const ClosurePtr& closure,
                absl::StatusOr<Reply> reply);
  void OnEnd(const SessionPtr& session, const ClosurePtr& closure,
             RunReply reply, EncodedValue value);
  // `ended`: whether a closure was removed from in_flight because of it.
  void Lose(const SessionPtr& session, const absl::Status& status,
            bool ended = false);
  void Settle(const SessionPtr& session);

  LinkContext& context_;
  const std::string task_;
  const int index_;
  const std::unique_ptr<Channel> channel_;
  Backoff backoff_;
  const std::unique_ptr<Timer> timer_;
  Event event_;  // something for Run to do
  Event ended_;
  Cancellation stop_;  // for waits of Run outside a session
  bool stopping_ = false;
  bool running_ = false;
  SessionPtr session_;
  bool prepared_ = false;  // its resources are made
  // A suspect that is held until the worker has nothing else.
  ClosurePtr held_;
  // Closures that were lost with the process `blamed_incarnation_`.
  std::vector<std::weak_ptr<Closure>> blamed_;
  uint64_t blamed_incarnation_ = 0;
  MonotonicTime rest_until_ = MonotonicTime::min();
  MonotonicTime away_since_;  // unless it is attached
  absl::Status error_;
  bool complained_ = false;
  LatencyWindow latency_;
  Histogram& latency_metric_;
  Counter& losses_metric_;
  uint64_t finished_ = 0;
  uint64_t failed_ = 0;
  uint64_t lost_ = 0;
};

}  // namespace capstan

// The coordinator's side of one worker: attaches to it, has it make what it
// needs, gives it closures, and gives them back when it is lost.
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

// What all links of a coordinator share. It outlives them.
struct LinkContext {
  Clock& clock;
  Logger logger;
  Executor executor;
  ClosureQueue& queue;
  const ResourceRegistry& resources;
  DispatchMetrics& metrics;
  // How many closures a worker has beyond those that it runs.
  uint32_t queued_per_worker = 2;
  // The most bytes of tensors that a result may have.
  uint64_t result_limit = uint64_t{1} << 30;
  // What the program defines, and a worker's must; null: not compared.
  std::shared_ptr<const ProgramDefinitions> definitions;
  // Of the coordinator, now.
  std::function<CoordinatorTerm()> coordinator_term;
  std::function<Fence()> fence;
  // How many workers there are.
  std::function<int()> num_workers;
  // The input pipeline of the worker of that number, now.
  std::function<InputContext(int index)> pipeline;
  // A worker is there, perhaps after it was away for long.
  std::function<void()> on_attached;
  // Above all sessions so far.
  std::function<uint64_t()> next_session;
  // How many workers have a thread free, or may become ready soon.
  std::function<size_t()> num_idle;
  // Whether the coordinator does not hear from a server either.
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
  // Gives back what it has, and ends. The channel is closed.
  Task<> Stop();

  // The worker is there, as others say: tries at once to attach to it.
  void Nudge();
  // It does not answer, as others say: asks it, and loses it if that is so. A
  // link that waits for no answer does not notice by itself, and a call that
  // comes after would wait for the worker to come back.
  void OnUnreachable();
  // Resources have come or gone, or input pipelines have changed.
  void OnResources();

  // Whether it could take another closure, and how many it has.
  bool CanTake() const;
  size_t in_flight() const;
  // Takes one closure of the queue and sends it. False if there is none.
  bool TakeOne();

  // How many closures it would run at once if it got as many more.
  size_t free_places() const;
  // Has the newest closure brought back that was sent up to `since` and has not
  // started, as far as can be told from here. False if there is none.
  bool Recall(MonotonicTime since);
  // The same for a suspect that waits here until the worker has nothing else.
  void GiveBackHeld();

  // Tells the worker to end all closures, or one if it has it.
  void CancelAll();
  void CancelStep(uint64_t step);

  // Asks the worker what it does.
  Task<absl::StatusOr<WorkerReport>> Ask(Duration timeout);

  LinkReport Report() const;
  const std::string& task() const { return task_; }
  // Whether the worker is there, and whether it can be given closures.
  int index() const { return index_; }
  // Whether it counts for the input pipelines: it is there, or has been away
  // for less than `patience`.
  bool Counts(Duration patience) const;
  bool attached() const { return session_ != nullptr; }
  bool ready() const { return session_ != nullptr && prepared_; }

 private:
  using ClosurePtr = ClosureQueue::ClosurePtr;

  // Of requests that are answered at once.
  static constexpr Duration kShort = std::chrono::seconds(5);
  // A function, or the making of a resource, may take as long as it likes; what
  // ends the wait for it is its end, a cancellation, or the loss of its worker.
  static constexpr Duration kForever = std::chrono::hours(24 * 365);

  // Whether the failure of a call says something of the call, not of the
  // worker.
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
  // From one attachment to the loss of the worker.
  struct Session {
    uint64_t number = 0;
    uint64_t incarnation = 0;
    AttachReply reply;
    // By name: the place in the reply.
    absl::flat_hash_map<std::string, uint32_t> functions;
    Cancellation cancellation;  // of all calls
    std::map<uint64_t, Flight> in_flight;
    absl::Status lost;     // not OK: it is over
    bool leaving = false;  // because the worker leaves the job
    bool alone = false;    // it runs a suspect, and nothing else
    std::map<uint64_t, Resource> made;
    // The resource that it makes now, if it does.
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
  // Makes what is missing and drops what is too much.
  Task<> MakeResources(SessionPtr session);
  Task<absl::Status> MakeOne(SessionPtr session, uint64_t id,
                             std::shared_ptr<const ResourceInfo> info,
                             InputContext input);
  // What datasets are to be made with now.
  InputContext Input() const;
  Task<> Pause(Duration duration);
  // Whether the worker has been told to make the resource, and if it is an
  // input pipeline, with the present context.
  bool IsMade(const Session& session, uint64_t id,
              const ResourceInfo& info) const;
  // Whether that is so of all resources that there are, and the worker has no
  // others.
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
  // `ended`: whether a closure was taken out of those in flight for it.
  void Lose(const SessionPtr& session, const absl::Status& status,
            bool ended = false);
  void Settle(const SessionPtr& session);

  LinkContext& context_;
  const std::string task_;
  const int index_;
  const std::unique_ptr<Channel> channel_;
  Backoff backoff_;
  const std::unique_ptr<Timer> timer_;
  Event event_;  // something for Run to look at
  Event ended_;
  Cancellation stop_;  // of what Run waits for outside a session
  bool stopping_ = false;
  bool running_ = false;
  SessionPtr session_;
  bool prepared_ = false;  // its resources are made
  // A suspect that waits until the worker has nothing else.
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

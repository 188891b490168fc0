// The custom training loop: variables on the servers, functions on the workers,
// and a coordinator that schedules the functions.
//
//   ClusterCoordinator coordinator(cluster);
//   coordinator.CreateVariables({{.name = "w", .shape = {10}}});
//   std::vector<RemoteValue<double>> losses;
//   for (int i = 0; i < 1'000; ++i) {
//     losses.push_back(coordinator.Schedule(step, i));
//   }
//   coordinator.Join();
//   double last = losses.back().Fetch();
//
// When a worker is lost, its functions run again on other workers, as the same
// steps: updates that were already applied are not applied again.
// docs/failures.md says which tasks may die and what that means.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "capstan/dataset.h"
#include "capstan/error.h"
#include "capstan/export.h"
#include "capstan/function.h"
#include "capstan/partitioner.h"
#include "capstan/tensor.h"
#include "capstan/variable.h"

namespace capstan {

class Cluster;

// No timeout.
inline constexpr std::chrono::nanoseconds kForever =
    std::chrono::nanoseconds::max();

// A function was lost with one worker after another and is not retried, because
// it probably crashes them. The code is kAborted.
class CAPSTAN_EXPORT PoisonedClosure : public Error {
 public:
  PoisonedClosure(const Error& error, std::vector<std::string> workers);
  PoisonedClosure(const PoisonedClosure&) noexcept = default;
  PoisonedClosure& operator=(const PoisonedClosure&) noexcept = default;
  ~PoisonedClosure() override;

  // The workers that were lost, in order; one may occur twice.
  const std::vector<std::string>& workers() const noexcept { return *workers_; }

 private:
  std::shared_ptr<const std::vector<std::string>> workers_;
};

// What RemoteValues of all types have in common.
class CAPSTAN_EXPORT RemoteValueBase {
 public:
  // Whether Fetch would return or throw at once.
  bool Ready() const noexcept;

  // Cancels the function if it has not run, and asks it to stop if it is
  // running: see WorkerContext::Cancelled. Fetch then throws kCancelled; Join
  // continues.
  void Cancel() const;

 protected:
  struct State;
  friend class ClusterCoordinator;
  explicit RemoteValueBase(std::shared_ptr<State> state);
  // How long to wait for a value, and when the wait began.
  struct Patience {
    std::chrono::steady_clock::time_point since;
    std::chrono::nanoseconds timeout;
  };
  const EncodedValue& Await(const Patience& patience) const;
  void CallWhenReady(std::function<void()> callback) const;

 private:
  std::shared_ptr<State> state_;
};

// The result of a scheduled function, which may not have run yet. A handle:
// copies refer to the same result. If no copy is left, the result is not sent.
// Thread-safe. Remains valid after the coordinator is destroyed.
template <typename T>
class RemoteValue : public RemoteValueBase {
 public:
  // Waits for the function to end and returns its result; may be called any
  // number of times. Throws what the function threw; kCancelled if it was
  // cancelled, including because another function failed; kDeadlineExceeded,
  // naming the step, after `timeout`.
  T Fetch(std::chrono::nanoseconds timeout = kForever) const {
    return FetchWith({std::chrono::steady_clock::now(), timeout});
  }

  // Calls `callback` with this value once it is ready, at once if it already
  // is, on a thread of the coordinator that all callbacks share. The callback
  // must not throw, nor wait for what another callback does.
  void Then(std::function<void(const RemoteValue&)> callback) const {
    CallWhenReady(
        [copy = *this, callback = std::move(callback)] { callback(copy); });
  }

 private:
  friend class ClusterCoordinator;
  explicit RemoteValue(std::shared_ptr<State> state)
      : RemoteValueBase(std::move(state)) {}

  T FetchWith(const Patience& patience) const {
    const EncodedValue& value = Await(patience);
    if constexpr (!std::is_void_v<T>) {
      ValueReader reader(value);
      T result = Type<T>::Read(reader);
      reader.End();
      return result;
    }
  }
};

template <typename T>
inline constexpr bool kIsRemoteValue = std::is_base_of_v<RemoteValueBase, T>;

// Whether an argument of type A can be passed for a parameter of type P: as any
// argument in C++; or a DataTicket, which must be moved, for a DataRange. A
// RemoteValue cannot be passed: its value is on the coordinator, so fetch it
// first.
template <typename A, typename P>
concept ArgumentFor = !kIsRemoteValue<std::remove_cvref_t<A>> &&
                      (std::convertible_to<A, P> ||
                       (std::same_as<P, DataRange> &&
                        std::same_as<std::remove_cvref_t<A>, DataTicket> &&
                        !std::is_lvalue_reference_v<A>));

// The program's own number for a step, which tells it which steps are complete
// after its coordinator was killed and restarted: keys count from 0, without
// gaps, and mean the same each time the program runs.
struct StepKey {
  std::uint64_t value = 0;
};

// The arguments of one call.
struct ScheduledCall {
  ValueWriter writer;
  std::vector<std::shared_ptr<const std::uint64_t>> resources;
  std::vector<DataTicket> tickets;
  std::uint64_t step = 0;  // 0: the next
  std::optional<StepKey> key;

  template <typename P, typename A>
  void Write(A&& argument) {
    if constexpr (std::same_as<std::remove_cvref_t<A>, DataTicket>) {
      Type<DataRange>::Write(writer, argument.range());
      tickets.push_back(std::forward<A>(argument));
    } else {
      const P value(std::forward<A>(argument));
      Type<P>::Write(writer, value);
      if constexpr (requires { value.id(); }) resources.push_back(value.id());
    }
  }
};

struct CoordinatorOptions {
  // Resume with the variables that an earlier coordinator of this job, which
  // was killed, left on the servers. Otherwise start from scratch.
  bool attach = true;
  // How many functions may be queued; Schedule waits while the queue is full.
  // 0: no limit.
  std::size_t queue_capacity = std::size_t{256} * 1024;
  // A function fails with PoisonedClosure after this many workers were lost
  // with it.
  int max_lost_workers = 3;
  // How many functions are queued at each worker beyond those that it is
  // running. They move to other workers that have nothing to do.
  int queued_per_worker = 2;
  // The maximum size of the tensors in a result, in bytes.
  std::uint64_t max_result_bytes = std::uint64_t{1} << 30;
  // How long functions may wait while there are no workers at all.
  std::chrono::nanoseconds no_worker_timeout = std::chrono::seconds(60);
  // How long to wait for a parameter server that does not answer. It may be
  // paused or cut off and still have its variables: if it returns in time,
  // nothing is lost. A server whose process has ended is lost at once.
  std::chrono::nanoseconds server_timeout = std::chrono::seconds(60);
  // If nothing finishes for this long, report on standard error what each task
  // is waiting for, and again each time as much time has passed. 0: never.
  std::chrono::nanoseconds watchdog = std::chrono::seconds(60);
};

struct RecoverOptions {
  // How long to wait for servers that do not answer.
  std::chrono::nanoseconds timeout = std::chrono::minutes(5);
  // What to do then: create the variables on the servers that do answer, if
  // there are any. A server that comes back later is in ReturnedServers.
  bool go_on_without = false;
};

// The progress of the coordinator's functions.
struct CoordinatorStatus {
  std::uint64_t queued = 0;
  std::uint64_t in_flight = 0;
  std::uint64_t finished = 0;
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t retries = 0;  // functions that were moved to another worker
  double per_second = 0;
  int ready_workers = 0;
  int workers = 0;  // all so far, ready or not
};

// Iterators over one dataset, one per worker.
template <typename T>
class PerWorkerDataset;

// Dispatches functions to workers. A handle: all ClusterCoordinators of one
// Cluster share one coordinator, which has the options of the first.
// Thread-safe. Must not be used after the body of the program has returned.
//
// Errors. A function that throws does not by itself disturb the others. The
// next call of Schedule, Join or Done (or one that is already waiting) cancels
// all functions that are running, waits until they have ended, cancels all that
// are queued, and throws the error. After that, the coordinator can be used as
// before. The first error is thrown; LastErrors has all of them: a function
// that fails by itself meanwhile keeps its own error. The loss of a parameter
// server is also such an error, but it cancels everything at once, and every
// call throws it until the server is back.
class CAPSTAN_EXPORT ClusterCoordinator {
 public:
  // Throws kInvalidArgument for invalid options.
  explicit ClusterCoordinator(Cluster& cluster,
                              const CoordinatorOptions& options = {});
  ClusterCoordinator(const ClusterCoordinator&) = default;
  ClusterCoordinator& operator=(const ClusterCoordinator&) = default;
  ClusterCoordinator(ClusterCoordinator&&) noexcept = default;
  ClusterCoordinator& operator=(ClusterCoordinator&&) noexcept = default;
  ~ClusterCoordinator();

  // Creates variables on the servers, all or none. Each is cut by
  // `partitioner`, or by default into shards of 256 KiB or more, at most one
  // per server. Throws kAlreadyExists or kInvalidArgument, naming the variable
  // and the field; kUnavailable, naming the server. A variable that an attached
  // coordinator finds on the servers stays as it is; throws kFailedPrecondition
  // if its shape, dtype, optimizer or update mode is another.
  void CreateVariables(const std::vector<VariableSpec>& specs,
                       const Partitioner& partitioner = nullptr);
  // Removes variables from the servers. Throws kNotFound if one does not exist;
  // kUnavailable, naming the server. Variables colocated with them stay.
  void DropVariables(const std::vector<std::string>& names);
  // Gives the optimizers of variables another learning rate or schedule: for
  // all updates that are applied after this has returned, and for some of those
  // in flight. Slots and update counts stay. Throws kNotFound;
  // kFailedPrecondition for a variable without an optimizer; kInvalidArgument
  // for an invalid rate; kUnavailable, naming the server.
  void SetLearningRate(const std::vector<std::string>& variables,
                       const LearningRate& rate);

  // Whether this coordinator resumes the work of an earlier one: the variables
  // already have their values, and must not be assigned initial ones.
  bool attached();
  // A short text (UTF-8) that the servers keep and that checkpoints include,
  // for a program to know where it was. SetRecord returns at once; the servers
  // have the text soon after, and certainly with the next checkpoint.
  std::optional<std::string> Record(const std::string& key) const;
  void SetRecord(const std::string& key, const std::string& text);

  // The error of a server that was lost, or has lost its variables; nullopt if
  // there is none.
  std::optional<Error> LostServer() const;
  // Servers that the job has continued without, and that answer again.
  std::vector<std::string> ReturnedServers() const;
  // After a server has lost its variables: waits until all servers answer, and
  // creates the variables again, with their initial values; then restore a
  // checkpoint (checkpoint.h). Everything that was scheduled has failed.
  // Returns the servers that the job continues without: none, unless some were
  // given up now or before. Throws kDeadlineExceeded, naming the server, if it
  // is not back in time; kFailedPrecondition if nothing was lost.
  // Works the same way when a server has returned and nothing is scheduled: the
  // server gets its part again. Save first, because the values are lost in this
  // case, too.
  std::vector<std::string> Recover(const RecoverOptions& options = {});

  // As in WorkerContext, from the coordinator. Reading throws
  // kDeadlineExceeded, naming the server, after `timeout`, even while values
  // are arriving.
  Tensor Read(const std::string& variable,
              std::chrono::nanoseconds timeout = kForever);
  std::vector<Tensor> ReadAll(const std::vector<std::string>& variables,
                              std::chrono::nanoseconds timeout = kForever);
  Tensor ReadRows(const std::string& variable,
                  std::span<const std::int64_t> ids,
                  std::chrono::nanoseconds timeout = kForever);
  UpdateResult Apply(Operation operation,
                     const std::vector<VariableUpdate>& updates);
  UpdateResult Assign(const std::string& variable, const Tensor& value) {
    return Apply(Operation::kSet, {{variable, value}});
  }

  // Queues a call of `function` and returns at once, unless the queue is full.
  // Any worker may run it; if that worker is lost, another one does. Tensors
  // are not copied: do not write to them before the function has run.
  template <typename R, typename... Params, typename... Args>
  requires(sizeof...(Params) == sizeof...(Args) &&
           (ArgumentFor<Args, Params> && ...))
      RemoteValue<R> Schedule(const Function<R, Params...>& function,
                              Args&&... args) {
    ScheduledCall call;
    (call.template Write<Params>(std::forward<Args>(args)), ...);
    return RemoteValue<R>(ScheduleCall(function.info(), std::move(call)));
  }

  // The same, as the step that the program calls `key`. The step is complete
  // once the function has returned. A step that is not complete, because it
  // failed, was cancelled, or was interrupted together with its coordinator, is
  // scheduled again under the same key and runs as the same step: each of its
  // updates is applied once, however many runs it takes (docs/recovery.md).
  // Complete steps survive the coordinator, and are part of every checkpoint.
  //
  // Keys may be scheduled in any order, but less than 8,192 above the first
  // that is not complete; for one above that, the call waits. Throws
  // kAlreadyExists for a key that is scheduled or complete;
  // kFailedPrecondition, naming a key, if the call would wait for a key that is
  // not scheduled; also kFailedPrecondition before variables are created, if
  // any variable has Sync or BoundedStaleness, and while Fit is running.
  template <typename R, typename... Params, typename... Args>
  requires(sizeof...(Params) == sizeof...(Args) &&
           (ArgumentFor<Args, Params> && ...))
      RemoteValue<R> Schedule(StepKey key,
                              const Function<R, Params...>& function,
                              Args&&... args) {
    ScheduledCall call;
    call.key = key;
    (call.template Write<Params>(std::forward<Args>(args)), ...);
    return RemoteValue<R>(ScheduleCall(function.info(), std::move(call)));
  }

  // Which steps are complete, by this coordinator, by earlier ones whose
  // variables it has taken over, or by the checkpoint that was restored. Both
  // throw kFailedPrecondition if a coordinator was killed while it restored a
  // checkpoint: restore again.
  bool IsComplete(StepKey key);
  StepKey FirstIncomplete();
  // Marks the step as complete from now on, however much of it was done: for a
  // step that fails every time. Throws kFailedPrecondition if it is scheduled.
  void Skip(StepKey key);

  // The same, as step number `step`, which the caller has reserved: for
  // Trainer.
  template <typename R, typename... Params, typename... Args>
  requires(sizeof...(Params) == sizeof...(Args) &&
           (ArgumentFor<Args, Params> && ...))
      RemoteValue<R> ScheduleAs(std::uint64_t step,
                                const Function<R, Params...>& function,
                                Args&&... args) {
    ScheduledCall call;
    call.step = step;
    (call.template Write<Params>(std::forward<Args>(args)), ...);
    return RemoteValue<R>(ScheduleCall(function.info(), std::move(call)));
  }

  // Waits until everything that was scheduled before is done and, in
  // synchronous training, its last round is applied, full or not. Throws the
  // pending error; kDeadlineExceeded after `timeout`, with what is left, what
  // it is waiting for, and the pending error, if there is one.
  void Join(std::chrono::nanoseconds timeout = kForever);

  // Whether nothing is queued or running. Never waits for functions: while an
  // error is pending, it returns false until all that are running have ended,
  // and then throws the error.
  bool Done();

  // Fetches the RemoteValues in vectors, maps, tuples, pairs and optionals, and
  // leaves everything else as it is. Throws as RemoteValue::Fetch does;
  // kDeadlineExceeded, naming the step, if not all results have arrived after
  // `timeout`.
  template <typename T>
  auto Fetch(const T& structure, std::chrono::nanoseconds timeout = kForever) {
    return FetchIn(structure, {std::chrono::steady_clock::now(), timeout});
  }

  // All errors of the failure that was thrown last, the first error first.
  // Functions that were cancelled because of it are not included.
  std::vector<Error> LastErrors() const;

  // Creates a resource on every worker, now and whenever one joins or comes
  // back; does not wait for that. If a resource cannot be created, the
  // functions that use it fail with that error.
  template <typename T>
  PerWorker<T> CreatePerWorkerResource(const Resource<T>& resource) {
    return PerWorker<T>(AddResource(resource.info()));
  }

  // Each worker reads the dataset from its beginning; MakeIterator() of the
  // result creates new iterators each time. If a worker is lost, its iterator
  // starts again from the beginning, and so do all when workers join or leave:
  // see docs/data.md.
  template <typename T>
  PerWorkerDataset<T> CreatePerWorkerDataset(
      const Resource<Iterator<T>>& dataset) {
    return PerWorkerDataset<T>(*this, dataset);
  }
  // The same for a Dataset; a template, so that programs without a Dataset need
  // not include worker.h.
  template <typename Handle>
  requires requires(const Handle& handle) { handle.iterator(); }
  auto CreatePerWorkerDataset(const Handle& dataset) {
    return CreatePerWorkerDataset(dataset.iterator());
  }

  CoordinatorStatus Status() const;
  // How stale the gradients were that the servers have applied, counted by
  // shards: element 0 counts those with no updates since the worker had read,
  // element i those with 2^(i-1) to 2^i - 1. Asks all servers. Throws
  // kUnavailable, naming one.
  std::vector<std::uint64_t> Staleness() const;
  // Counters, gauges and histograms of the dispatching, in the text format of
  // Prometheus; updated a few times per second.
  std::string Metrics() const;

 private:
  friend struct CoordinatorMaker;
  struct Impl;

  std::shared_ptr<RemoteValueBase::State> ScheduleCall(
      std::shared_ptr<const FunctionInfo> function, ScheduledCall call);
  std::shared_ptr<const std::uint64_t> AddResource(
      std::shared_ptr<const ResourceInfo> info);

  using Patience = RemoteValueBase::Patience;
  template <typename T>
  static T FetchIn(const RemoteValue<T>& value, const Patience& patience) {
    return value.FetchWith(patience);
  }
  template <typename T>
  static auto FetchIn(const std::vector<T>& items, const Patience& patience) {
    std::vector<decltype(FetchIn(items.front(), patience))> values;
    values.reserve(items.size());
    for (const T& item : items) values.push_back(FetchIn(item, patience));
    return values;
  }
  template <typename K, typename V>
  static auto FetchIn(const std::map<K, V>& items, const Patience& patience) {
    std::map<K, decltype(FetchIn(items.begin()->second, patience))> values;
    for (const auto& [key, item] : items) {
      values.emplace(key, FetchIn(item, patience));
    }
    return values;
  }
  template <typename... Ts>
  static auto FetchIn(const std::tuple<Ts...>& items,
                      const Patience& patience) {
    return std::apply(
        [&](const Ts&... item) {
          return std::tuple<decltype(FetchIn(item, patience))...>{
              FetchIn(item, patience)...};
        },
        items);
  }
  template <typename A, typename B>
  static auto FetchIn(const std::pair<A, B>& items, const Patience& patience) {
    return std::pair<decltype(FetchIn(items.first, patience)),
                     decltype(FetchIn(items.second, patience))>{
        FetchIn(items.first, patience), FetchIn(items.second, patience)};
  }
  template <typename T>
  static auto FetchIn(const std::optional<T>& item, const Patience& patience) {
    std::optional<decltype(FetchIn(*item, patience))> value;
    if (item) value = FetchIn(*item, patience);
    return value;
  }
  template <typename T>
  static T FetchIn(const T& other, const Patience& /*patience*/) {
    return other;
  }

  std::shared_ptr<Impl> impl_;
};

template <typename T>
class PerWorkerDataset {
 public:
  PerWorkerDataset(ClusterCoordinator coordinator,
                   Resource<Iterator<T>> dataset)
      : coordinator_(std::move(coordinator)), dataset_(std::move(dataset)) {}

  // New iterators, each at the beginning.
  PerWorker<Iterator<T>> MakeIterator() {
    return coordinator_.CreatePerWorkerResource(dataset_);
  }

 private:
  ClusterCoordinator coordinator_;
  Resource<Iterator<T>> dataset_;
};

}  // namespace capstan

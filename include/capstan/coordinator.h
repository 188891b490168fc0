// The custom training loop: variables on the servers, functions on the workers,
// and one place that says what is to be done.
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
// When a worker is lost its functions run again on others, as the same steps:
// what they had applied already is not applied again. docs/failures.md says who
// may die and what that means.
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

// No time-out.
inline constexpr std::chrono::nanoseconds kForever =
    std::chrono::nanoseconds::max();

// A function was lost with one worker after the other, and is not tried again:
// it probably takes them down. Its code is kAborted.
class CAPSTAN_EXPORT PoisonedClosure : public Error {
 public:
  PoisonedClosure(const Error& error, std::vector<std::string> workers);
  PoisonedClosure(const PoisonedClosure&) noexcept = default;
  PoisonedClosure& operator=(const PoisonedClosure&) noexcept = default;
  ~PoisonedClosure() override;

  // Those that were lost, in order; one may occur twice.
  const std::vector<std::string>& workers() const noexcept { return *workers_; }

 private:
  std::shared_ptr<const std::vector<std::string>> workers_;
};

// What is the same for RemoteValues of all types.
class CAPSTAN_EXPORT RemoteValueBase {
 public:
  // Whether Fetch would return, or throw, at once.
  bool Ready() const noexcept;

  // Ends the function if it has not run, and asks it to end if it runs: see
  // WorkerContext::Cancelled. Fetch then throws kCancelled; Join goes on.
  void Cancel() const;

 protected:
  struct State;
  friend class ClusterCoordinator;
  explicit RemoteValueBase(std::shared_ptr<State> state);
  // How long to wait for a value, and since when.
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
// copies are of the same result. If no copy is left, the result is not sent.
// Thread-safe. Stays valid when the coordinator is gone.
template <typename T>
class RemoteValue : public RemoteValueBase {
 public:
  // Waits for the function to end and returns its result; any number of times.
  // Throws what the function threw; kCancelled if it was cancelled, also
  // because another one failed; kDeadlineExceeded, naming the step, after
  // `timeout`.
  T Fetch(std::chrono::nanoseconds timeout = kForever) const {
    return FetchWith({std::chrono::steady_clock::now(), timeout});
  }

  // Calls `callback` with this value once it is ready, at once if it is, on a
  // thread of the coordinator's that all callbacks share. It must not throw,
  // nor wait for what another callback does.
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
// argument in C++; or a range that was handed out, for a DataRange. A
// RemoteValue cannot: its value is here, so fetch it first.
template <typename A, typename P>
concept ArgumentFor = !kIsRemoteValue<std::remove_cvref_t<A>> &&
                      (std::convertible_to<A, P> ||
                       (std::same_as<P, DataRange> &&
                        std::same_as<std::remove_cvref_t<A>, DataTicket> &&
                        !std::is_lvalue_reference_v<A>));

// What a program calls one of its steps, so that it can tell what is done when
// its coordinator was killed and started again: keys count from 0, without
// holes, and mean the same each time the program runs.
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
  // Go on with the variables that a coordinator of this job before this one has
  // left on the servers, if it was killed; else begin anew.
  bool attach = true;
  // How many functions may be queued; Schedule then waits. 0: no bound.
  std::size_t queue_capacity = std::size_t{256} * 1024;
  // A function is given up when so many workers were lost with it.
  int max_lost_workers = 3;
  // How many functions a worker has at hand beyond those that it is running.
  // They go to other workers if those have nothing to do.
  int queued_per_worker = 2;
  // The most bytes of tensors that a result may have.
  std::uint64_t max_result_bytes = std::uint64_t{1} << 30;
  // How long functions may wait while there is not a single worker.
  std::chrono::nanoseconds no_worker_timeout = std::chrono::seconds(60);
  // How long to wait for a parameter server that does not answer. It may be
  // paused, or cut off, and still have its variables: if it returns in time,
  // nothing is lost. A server whose process has ended is lost at once.
  std::chrono::nanoseconds server_timeout = std::chrono::seconds(60);
  // If nothing finishes for so long, it is said what each task waits for, on
  // standard error, and again after as long. 0: never.
  std::chrono::nanoseconds watchdog = std::chrono::seconds(60);
};

struct RecoverOptions {
  // How long to wait for servers that do not answer.
  std::chrono::nanoseconds timeout = std::chrono::minutes(5);
  // What then: the variables are made on the servers that do answer, if there
  // are any. One that is back later is in ReturnedServers.
  bool go_on_without = false;
};

// How it is going.
struct CoordinatorStatus {
  std::uint64_t queued = 0;
  std::uint64_t in_flight = 0;
  std::uint64_t finished = 0;
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t retries = 0;  // functions that were given to another worker
  double per_second = 0;
  int ready_workers = 0;
  int workers = 0;  // that there have been, ready or not
};

// Iterators over one dataset, one per worker.
template <typename T>
class PerWorkerDataset;

// Dispatches functions to workers. A handle: all ClusterCoordinators of one
// Cluster are the same one, and its options are those of the first.
// Thread-safe. Must not be used after the body of the program has returned.
//
// Errors. A function that throws does not disturb the others by itself.
// Schedule, Join or Done, whichever is called next (or is waiting), cancels all
// functions that are running, waits until they have ended, cancels all that are
// queued, and throws the error. After that all is as at the beginning. The
// first error is thrown; LastErrors has them all: a function that fails by
// itself meanwhile keeps its own error. A lost parameter server is such an
// error, too, but it cancels everything at once, and every call throws it until
// the server is back.
class CAPSTAN_EXPORT ClusterCoordinator {
 public:
  // Throws kInvalidArgument for options that make no sense.
  explicit ClusterCoordinator(Cluster& cluster,
                              const CoordinatorOptions& options = {});
  ClusterCoordinator(const ClusterCoordinator&) = default;
  ClusterCoordinator& operator=(const ClusterCoordinator&) = default;
  ClusterCoordinator(ClusterCoordinator&&) noexcept = default;
  ClusterCoordinator& operator=(ClusterCoordinator&&) noexcept = default;
  ~ClusterCoordinator();

  // Makes variables on the servers, all or none. Each is cut by `partitioner`,
  // or else into shards of 256 KiB or more, one per server. Throws
  // kAlreadyExists or kInvalidArgument, naming the variable and the field;
  // kUnavailable, naming the server. One that an attached coordinator finds on
  // the servers stays as it is; kFailedPrecondition if that is another one.
  void CreateVariables(const std::vector<VariableSpec>& specs,
                       const Partitioner& partitioner = nullptr);
  // One that an attached coordinator finds on the servers stays as it is;
  // throws kFailedPrecondition if that is another one.
  void DropVariables(const std::vector<std::string>& names);
  // Gives the optimizers of variables another learning rate, or schedule: for
  // all updates that are applied after this has returned, and for some of those
  // under way. Slots and counts of updates stay. Throws kNotFound,
  // kFailedPrecondition for a variable without an optimizer, kInvalidArgument
  // for a rate that makes no sense; kUnavailable, naming the server.
  void SetLearningRate(const std::vector<std::string>& variables,
                       const LearningRate& rate);

  // Whether this coordinator goes on with what one before it has left: the
  // variables have their values, and must not be assigned their first ones.
  bool attached();
  // A few words of text (UTF-8) that the servers keep, and checkpoints have:
  // for a program to know where it was. Set returns at once; the servers have
  // it soon, and certainly with the next checkpoint.
  std::optional<std::string> Record(const std::string& key) const;
  void SetRecord(const std::string& key, const std::string& text);

  // The server that was lost, or has lost its variables, as an error; none if
  // all is well.
  std::optional<Error> LostServer() const;
  // Servers that the job has gone on without, and that answer again.
  std::vector<std::string> ReturnedServers() const;
  // After a server has lost its variables: waits until all servers answer, and
  // makes the variables anew, with their initial values; then restore a
  // checkpoint (checkpoint.h). What was scheduled has failed. Returns the
  // servers that the job goes on without: none, unless they were given up now
  // or before. Throws kDeadlineExceeded, naming the server, if it is not back
  // in time; kFailedPrecondition if nothing was lost.
  // The same when a server has returned and nothing is scheduled: it gets its
  // part again. Save before, as the values are lost here, too.
  std::vector<std::string> Recover(const RecoverOptions& options = {});

  // As in WorkerContext, from here. Reading throws kDeadlineExceeded, naming
  // the server, after `timeout`, even while values arrive.
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
  // Which worker runs it is not known; when that is lost, another does. Tensors
  // are not copied: do not write to them before it has run.
  template <typename R, typename... Params, typename... Args>
  requires(sizeof...(Params) == sizeof...(Args) &&
           (ArgumentFor<Args, Params> && ...))
      RemoteValue<R> Schedule(const Function<R, Params...>& function,
                              Args&&... args) {
    ScheduledCall call;
    (call.template Write<Params>(std::forward<Args>(args)), ...);
    return RemoteValue<R>(ScheduleCall(function.info(), std::move(call)));
  }

  // The same as the step that the program calls `key`. It is complete once the
  // function has returned. One that is not, because it failed, was cancelled,
  // or was cut off with its coordinator, is scheduled again under the same key,
  // and runs as the same step: each of its updates is applied once, whichever
  // runs it took (docs/recovery.md). What is complete survives the coordinator,
  // and is part of every checkpoint.
  //
  // Keys may be scheduled in any order, but less than 8,192 above the first
  // that is not complete: it waits for that. Throws kAlreadyExists for a key
  // that is scheduled or complete; kFailedPrecondition, naming a key, if it
  // would wait for one that is not scheduled; kFailedPrecondition before
  // variables are made, if some have Sync or BoundedStaleness, and while Fit is
  // running.
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

  // Which steps are complete, by this coordinator and those before it whose
  // variables it has taken over, or by the checkpoint that was restored. Throw
  // kFailedPrecondition if a coordinator was killed while it restored one:
  // restore again.
  bool IsComplete(StepKey key);
  StepKey FirstIncomplete();
  // Counts as complete from now on, whatever was done of it: for a step that
  // fails each time. Throws kFailedPrecondition if it is scheduled.
  void Skip(StepKey key);

  // The same as the step `step`, which the caller has reserved: for Trainer.
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

  // Waits until all that was scheduled before is done, and in synchronous
  // training its last round is applied, full or not. Throws the pending error;
  // kDeadlineExceeded after `timeout`, with what is left, what it is waiting
  // for, and the error that is pending, if there is one.
  void Join(std::chrono::nanoseconds timeout = kForever);

  // Whether nothing is queued or running. Never waits for functions: while an
  // error is pending it returns false until all that are running have ended,
  // and then throws it.
  bool Done();

  // The results in vectors, maps, tuples, pairs and optionals of RemoteValues,
  // with everything else left as it is. Throws as RemoteValue::Fetch does;
  // kDeadlineExceeded, naming the step, if not all are there after `timeout`.
  template <typename T>
  auto Fetch(const T& structure, std::chrono::nanoseconds timeout = kForever) {
    return FetchIn(structure, {std::chrono::steady_clock::now(), timeout});
  }

  // All errors of the failure that was thrown last, the first one first.
  // Functions that were cancelled because of it are not among them.
  std::vector<Error> LastErrors() const;

  // Makes a resource on every worker, now and whenever one joins or comes back;
  // does not wait for that. One that fails is an error of the functions that
  // use it.
  template <typename T>
  PerWorker<T> CreatePerWorkerResource(const Resource<T>& resource) {
    return PerWorker<T>(AddResource(resource.info()));
  }

  // Each worker reads the dataset from its beginning; MakeIterator() of it
  // makes new iterators each time. One whose worker was lost starts again from
  // the beginning, and so do all when workers come or go: see docs/data.md.
  template <typename T>
  PerWorkerDataset<T> CreatePerWorkerDataset(
      const Resource<Iterator<T>>& dataset) {
    return PerWorkerDataset<T>(*this, dataset);
  }
  // The same for a Dataset; a template, so that those who have none need not
  // include worker.h.
  template <typename Handle>
  requires requires(const Handle& handle) { handle.iterator(); }
  auto CreatePerWorkerDataset(const Handle& dataset) {
    return CreatePerWorkerDataset(dataset.iterator());
  }

  CoordinatorStatus Status() const;
  // How stale the gradients were that the servers have applied, counted by
  // shards: element 0 of none, element i of 2^(i-1) to 2^i - 1 updates since
  // the worker had read. Asks all servers. Throws kUnavailable, naming one.
  std::vector<std::uint64_t> Staleness() const;
  // Counters, gauges and histograms of the dispatching, in the text format of
  // Prometheus; brought up to date a few times per second.
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

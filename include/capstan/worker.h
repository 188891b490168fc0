// What runs on workers: the functions, datasets and resources of a program, and
// what a function can do there.
//
//   auto step = program.AddFunction(
//       "step", [](WorkerContext& worker, DataRange range) -> double {
//         Tensor w = worker.Read("w");
//         auto [loss, gradient] = Differentiate(w, range);
//         worker.ApplyGradients({{"w", gradient}});
//         return loss;
//       });
//
// The same definitions are made in every task of a job, before it runs.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "capstan/dataset.h"
#include "capstan/export.h"
#include "capstan/function.h"
#include "capstan/tensor.h"
#include "capstan/variable.h"

namespace capstan {

// A copy of a variable in the program's own memory, such as a parameter of a
// model: values are received directly into it, and only those newer than what
// it holds. Not thread-safe; the copy and the memory must outlive the calls
// that they are passed to.
class CAPSTAN_EXPORT VariableCopy {
 public:
  // Starts without values.
  VariableCopy(std::string variable, MutableTensorView memory);
  ~VariableCopy();
  VariableCopy(VariableCopy&&) noexcept;
  VariableCopy& operator=(VariableCopy&&) noexcept;

  const std::string& variable() const noexcept;
  const MutableTensorView& memory() const noexcept;
  // Call this after writing to the memory: the next pull fetches all of it.
  void Forget() noexcept;

  // For the worker's own use.
  struct State;

 private:
  friend struct VariableCopyAccess;
  std::unique_ptr<State> state_;
};

// A gradient of the variable of a copy, or the operand of another operation, as
// a view of the caller's memory.
struct CopyGradient {
  VariableCopy* copy = nullptr;
  TensorView gradient;
};

// A gradient of rows of a variable: row i is that of row ids[i], and rows of
// equal ids are added up. Views of the caller's memory.
struct RowGradient {
  std::string variable = {};
  std::span<const std::int64_t> ids = {};
  TensorView gradient;
};

// A call in progress. What was passed to it must stay unchanged until it has
// ended. Move-only.
class CAPSTAN_EXPORT PendingCall {
 public:
  PendingCall() noexcept;  // already ended
  // Waits for the end, and discards the outcome.
  ~PendingCall();
  PendingCall(PendingCall&&) noexcept;
  PendingCall& operator=(PendingCall&&) noexcept;

  // Waits for the end, and throws what the call would have thrown; once.
  void Wait();

 private:
  friend class WorkerContext;
  struct State;
  explicit PendingCall(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

// A function's view of the worker that runs it. Valid until the function
// returns.
//
// Reading and updating block, and throw: kCancelled once the step is cancelled,
// kNotFound for a variable that does not exist, kInvalidArgument and
// kOutOfRange for values that do not fit it, kUnavailable or kDeadlineExceeded,
// naming the server, if one cannot be reached, or no bytes move, for 30 s. A
// large transfer takes as long as its bytes keep moving.
//
// Every update of a step is applied once, even if the step runs again because
// its worker was lost. Updates are identified by their order in the step: a
// function must make the same ones in the same order each time, though their
// values may differ. Thread-safe; but updates from several threads have no
// order.
class CAPSTAN_EXPORT WorkerContext {
 public:
  WorkerContext(const WorkerContext&) = delete;
  WorkerContext& operator=(const WorkerContext&) = delete;

  // "worker/3", and its index, 3.
  const std::string& task() const noexcept;
  int worker_index() const noexcept;
  // The number of the step, from 1; the same when the step runs again.
  std::uint64_t step() const noexcept;
  // How many threads a step should compute with, so that the workers of one
  // machine do not compete: CAPSTAN_COMPUTE_THREADS, or the cores of the
  // machine divided by the number of steps that this worker runs at the same
  // time.
  int compute_threads() const noexcept;

  // True once the step is no longer needed: another one failed, it was
  // cancelled, or the coordinator is gone. A function that computes for long
  // should check this.
  bool Cancelled() const noexcept;
  // Throws kCancelled if Cancelled().
  void ThrowIfCancelled() const;
  // Waits for `duration`; throws kCancelled as soon as the step is cancelled.
  void SleepFor(std::chrono::nanoseconds duration) const;

  // Whole variables. Several are requested at once.
  Tensor Read(const std::string& variable);
  std::vector<Tensor> ReadAll(const std::vector<std::string>& variables);
  // Row ids[i] of a variable as row i.
  Tensor ReadRows(const std::string& variable,
                  std::span<const std::int64_t> ids);

  // Applies updates, all as one: it is checked as a whole before anything
  // changes.
  UpdateResult Apply(Operation operation,
                     const std::vector<VariableUpdate>& updates);
  // With the optimizers of the variables.
  UpdateResult ApplyGradients(const std::vector<VariableUpdate>& gradients) {
    return Apply(Operation::kGradient, gradients);
  }
  UpdateResult Assign(const std::string& variable, const Tensor& value) {
    return Apply(Operation::kSet, {{variable, value}});
  }
  UpdateResult Add(const std::string& variable, const Tensor& value) {
    return Apply(Operation::kAdd, {{variable, value}});
  }

  // The same without waiting and without copies, for models. A call fails as
  // above, when it is waited for.

  // Brings copies up to date.
  PendingCall StartPull(std::span<VariableCopy* const> copies);
  // Row ids[i] of a variable into row i of `into`.
  PendingCall StartReadRows(const std::string& variable,
                            std::span<const std::int64_t> ids,
                            const MutableTensorView& into);

  // Reserves numbers for `count` updates of the step, and returns the first.
  // Updates that are in flight at the same time cannot be identified by their
  // order: a function gives each its number, the same one each time that it
  // runs.
  std::uint32_t ReserveUpdates(std::uint32_t count);
  // Applies gradients as one update; `global_clip_norm` bounds the norm of all
  // of them together. With `refresh`, the updated values come back into the
  // copies, whatever the update mode of the variables.
  PendingCall StartGradients(std::uint32_t number,
                             std::span<const CopyGradient> gradients,
                             std::span<const RowGradient> rows, bool refresh) {
    return StartApply(number, Operation::kGradient, gradients, rows, refresh);
  }
  // The same with any operation.
  PendingCall StartApply(std::uint32_t number, Operation operation,
                         std::span<const CopyGradient> operands,
                         std::span<const RowGradient> rows, bool refresh);
  // Whether the optimizer of any of these variables has a `global_clip_norm`: a
  // model must then send its whole gradient as one update. `found` is set when
  // the call has ended.
  PendingCall StartFindGlobalClip(std::span<const std::string> variables,
                                  bool& found);

 private:
  friend class WorkerContextHost;
  struct Impl;
  explicit WorkerContext(Impl& impl) : impl_(impl) {}
  ~WorkerContext() = default;

  Impl& impl_;
};

// A function without its types.
struct FunctionDefinition {
  std::shared_ptr<const FunctionInfo> info;
  std::function<EncodedValue(WorkerContext& worker, const EncodedValue& given,
                             const ResourceFinder& finder)>
      run;
};
// A resource without its type.
struct ResourceDefinition {
  std::shared_ptr<const ResourceInfo> info;
  std::function<std::shared_ptr<void>(const InputContext& input)> make;
};

// Deduces what a function returns and takes, with or without a WorkerContext&
// in front.
template <typename F>
struct Callable : Callable<decltype(&F::operator())> {};
template <typename R, typename... Args>
struct Callable<R (*)(Args...)> {
  template <template <typename...> typename Of>
  using As = Of<R, std::remove_cvref_t<Args>...>;
  static constexpr bool kWithContext = false;
  template <typename F>
  static R Call(const F& function, WorkerContext&, ValueReader& reader) {
    // Braces, because they evaluate in the order of the arguments.
    std::tuple<std::remove_cvref_t<Args>...> args{
        Type<std::remove_cvref_t<Args>>::Read(reader)...};
    reader.End();
    return std::apply(function, std::move(args));
  }
};
template <typename R, typename... Args>
struct Callable<R (*)(WorkerContext&, Args...)> {
  template <template <typename...> typename Of>
  using As = Of<R, std::remove_cvref_t<Args>...>;
  static constexpr bool kWithContext = true;
  template <typename F>
  static R Call(const F& function, WorkerContext& worker, ValueReader& reader) {
    std::tuple<std::remove_cvref_t<Args>...> args{
        Type<std::remove_cvref_t<Args>>::Read(reader)...};
    reader.End();
    return std::apply(
        [&](auto&&... arg) -> R {
          return function(worker, std::forward<decltype(arg)>(arg)...);
        },
        std::move(args));
  }
};
template <typename C, typename R, typename... Args>
struct Callable<R (C::*)(Args...) const> : Callable<R (*)(Args...)> {};
template <typename C, typename R, typename... Args>
struct Callable<R (C::*)(Args...) const noexcept> : Callable<R (*)(Args...)> {};
template <typename R, typename... Args>
struct Callable<R(Args...)> : Callable<R (*)(Args...)> {};

// A registered Dataset, to be read from its beginning or by number. A handle;
// cheap to copy.
class DatasetHandle {
 public:
  DatasetHandle(Resource<Iterator<Example>> iterator, Resource<LazyTable> table)
      : iterator_(std::move(iterator)), table_(std::move(table)) {}
  const std::string& name() const { return iterator_.name(); }
  const Resource<Iterator<Example>>& iterator() const { return iterator_; }
  const Resource<LazyTable>& table() const { return table_; }

 private:
  Resource<Iterator<Example>> iterator_;
  Resource<LazyTable> table_;
};

class ClusterCoordinator;

// What the evaluator task has to work with.
struct EvaluatorTask {
  // That of the evaluator's own cluster, inside the process.
  ClusterCoordinator& coordinator;
  // Whether the job has ended. Thread-safe.
  std::function<bool()> over = nullptr;
  // That of `capstan run --checkpoint-dir`; empty if there is none.
  std::string checkpoint_directory = {};
};
using EvaluatorBody = std::function<void(const EvaluatorTask&)>;

// The functions, datasets and resources of a program, by name. Each Add throws
// kAlreadyExists for a name that is taken, and kInvalidArgument for one that is
// empty or longer than 200 bytes. A handle: copies share the definitions. Not
// thread-safe, and fixed once a task runs with it: an Add then throws
// kFailedPrecondition.
class CAPSTAN_EXPORT Definitions {
 public:
  Definitions();
  ~Definitions();
  Definitions(const Definitions&);
  Definitions& operator=(const Definitions&);

  // Registers a function whose arguments and result are Transferable, with or
  // without a WorkerContext& in front. It may run on several threads at once,
  // so it must be const. What it throws is the step's failure.
  template <typename F>
  auto AddFunction(std::string name, F function, FunctionOptions options = {}) {
    using Taken = Callable<std::decay_t<F>>;
    return AddTaken<Taken>(
        static_cast<typename Taken::template As<Function>*>(nullptr),
        std::move(name), std::move(function), options);
  }

  // Registers something that each worker has one of: `make` is called on the
  // worker with the worker's InputContext, and returns it, or a std::shared_ptr
  // to it. It is created once, and keeps its state when other workers join or
  // leave.
  template <typename F>
  auto AddResource(std::string name, F make) {
    using Made = std::invoke_result_t<const F&, const InputContext&>;
    if constexpr (requires { typename Made::element_type; }) {
      using T = typename Made::element_type;
      return AddMade<T>(std::move(name),
                        [make = std::move(make)](const InputContext& input)
                            -> std::shared_ptr<void> { return make(input); });
    } else {
      return AddMade<Made>(std::move(name),
                           [make = std::move(make)](const InputContext& input)
                               -> std::shared_ptr<void> {
                             return std::make_shared<Made>(make(input));
                           });
    }
  }

  // Sets what the evaluator task does, if the cluster has one; `body` should
  // return soon after the job has ended. AddEvaluator in trainer.h calls this.
  // Throws kAlreadyExists if a body is already set.
  void SetEvaluator(EvaluatorBody body);

  // Registers a dataset: `make` returns a function that returns the next
  // element, or nullopt at the end: std::optional<T>(). `make` is called again
  // whenever the InputContext changes.
  // Or `make` returns a Dataset, which is registered as two resources: `name`,
  // to be read from its beginning, and `name`/table, to be read by number.
  template <typename F>
  auto AddDataset(std::string name, F make) {
    using Source = std::invoke_result_t<const F&, const InputContext&>;
    if constexpr (std::same_as<Source, Dataset>) {
      auto table = AddMade<LazyTable>(
          name + "/table",
          [make](const InputContext& input) -> std::shared_ptr<void> {
            // Numbers mean the same on all workers: nothing is sharded away.
            const InputContext whole{.num_replicas_in_sync =
                                         input.num_replicas_in_sync};
            return std::make_shared<LazyTable>(make(whole));
          });
      auto iterator = AddMade<Iterator<Example>>(
          std::move(name),
          [make = std::move(make)](
              const InputContext& input) -> std::shared_ptr<void> {
            return std::make_shared<Iterator<Example>>(make(input).Open());
          },
          /*input_pipeline=*/true);
      return DatasetHandle(std::move(iterator), std::move(table));
    } else {
      using T = typename std::invoke_result_t<Source&>::value_type;
      return AddMade<Iterator<T>>(
          std::move(name),
          [make = std::move(make)](
              const InputContext& input) -> std::shared_ptr<void> {
            return std::make_shared<Iterator<T>>(make(input));
          },
          /*input_pipeline=*/true);
    }
  }

 private:
  friend struct DefinitionsReader;
  struct Impl;

  template <typename Taken, typename F, typename R, typename... Params>
  Function<R, Params...> AddTaken(Function<R, Params...>* /*type*/,
                                  std::string name, F function,
                                  FunctionOptions options) {
    static_assert(std::is_void_v<R> || Transferable<R>,
                  "the result cannot be sent: see function.h for what can");
    static_assert((Transferable<Params> && ...),
                  "an argument cannot be sent: see function.h for what can");
    FunctionInfo info;
    info.name = std::move(name);
    info.signature = SignatureOf<R, Params...>();
    info.options = options;
    FunctionDefinition definition;
    definition.info = std::make_shared<const FunctionInfo>(std::move(info));
    definition.run = [function = std::move(function)](
                         WorkerContext& worker, const EncodedValue& given,
                         const ResourceFinder& finder) {
      ValueReader reader(given, finder);
      ValueWriter writer;
      if constexpr (std::is_void_v<R>) {
        Taken::Call(function, worker, reader);
      } else {
        Type<R>::Write(writer, Taken::Call(function, worker, reader));
      }
      return writer.Take();
    };
    Function<R, Params...> handle(definition.info);
    Add(std::move(definition));
    return handle;
  }

  template <typename T>
  Resource<T> AddMade(
      std::string name,
      std::function<std::shared_ptr<void>(const InputContext&)> make,
      bool input_pipeline = false) {
    ResourceInfo info{.name = std::move(name),
                      .type = NameOfType(typeid(T)),
                      .input_pipeline = input_pipeline};
    ResourceDefinition definition;
    definition.info = std::make_shared<const ResourceInfo>(std::move(info));
    definition.make = std::move(make);
    Resource<T> handle(definition.info);
    Add(std::move(definition));
    return handle;
  }

  void Add(FunctionDefinition definition);
  void Add(ResourceDefinition definition);

  std::shared_ptr<Impl> impl_;
};

}  // namespace capstan

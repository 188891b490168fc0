// Models in libtorch: a torch::nn::Module whose parameters live on the servers.
//
//   struct Classifier : torch::nn::Module {
//     torch::nn::Linear hidden = register_module("hidden", ...);
//     torch::Tensor forward(torch::Tensor x) { ... }
//   };
//   auto model = AddModel(program, "classifier",
//                         [] { return std::make_shared<Classifier>(); });
//
// trainer.h trains it. docs/training.md describes what happens to parameters,
// buffers and embeddings.
#pragma once

#include <torch/nn.h>
#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "capstan/dataset.h"
#include "capstan/export.h"
#include "capstan/tensor.h"
#include "capstan/trainer.h"
#include "capstan/variable.h"
#include "capstan/worker.h"

namespace capstan {

// A libtorch tensor on the same memory, which it keeps alive. What is written
// to one is visible in the other.
CAPSTAN_EXPORT torch::Tensor ToTorch(const Tensor& tensor);
// A tensor on the same memory, or a copy if that is not contiguous or not on
// the CPU. Throws kInvalidArgument for a type that Tensor does not have.
CAPSTAN_EXPORT Tensor FromTorch(const torch::Tensor& tensor);

// A batch as a model sees it. Valid while forward runs.
class CAPSTAN_EXPORT TorchBatch {
 public:
  TorchBatch(const Example& batch, std::string input = "x")
      : batch_(batch), input_(std::move(input)) {}
  // Throws kNotFound, listing the names that exist.
  torch::Tensor operator[](std::string_view name) const;
  // The tensor that FitOptions::input names.
  torch::Tensor input() const { return (*this)[input_]; }

 private:
  const Example& batch_;
  const std::string input_;
};

class RowSource;

// A table of `rows` vectors that exists only on the servers: forward reads the
// rows of a batch, and backward sends their gradients. Like
// torch::nn::Embedding, but only for models registered with AddModel, because
// the module itself holds no table.
class CAPSTAN_EXPORT EmbeddingImpl : public torch::nn::Module {
 public:
  // Without `optimizer` it uses the trainer's, and without `non_finite` that of
  // the model's TorchOptions. Throws kInvalidArgument unless `rows` and `dim`
  // are at least 1.
  EmbeddingImpl(std::int64_t rows, std::int64_t dim,
                Initializer initializer = Uniform{},
                std::optional<Optimizer> optimizer = std::nullopt,
                std::optional<NonFinite> non_finite = std::nullopt);

  // Takes ids (i64 or i32) of any shape; the result has one more axis, of size
  // dim. Throws kOutOfRange for an id that is not a row, kFailedPrecondition
  // outside of a step.
  torch::Tensor forward(const torch::Tensor& ids);

  // For the replica: where rows come from while a step runs; null otherwise.
  void Attach(RowSource* source) { source_ = source; }
  // Its variable, except for the name, in a model with this `non_finite`.
  VariableSpec Spec(NonFinite of_model = NonFinite::kRefuse) const;
  std::int64_t dim() const noexcept { return dim_; }

 private:
  const std::int64_t rows_;
  const std::int64_t dim_;
  const Initializer initializer_;
  const std::optional<Optimizer> optimizer_;
  const std::optional<NonFinite> non_finite_;
  RowSource* source_ = nullptr;
};
TORCH_MODULE(Embedding);

// The loss of each example (rank 1) or of all of them together (rank 0), in
// which case there can be no weights. Computed from predictions, as forward
// returns them, and targets.
using LossFunction = std::function<torch::Tensor(
    const torch::Tensor& predictions, const torch::Tensor& targets)>;

struct TorchOptions {
  // For CustomLoss and CustomMetric, by name.
  std::map<std::string, LossFunction> losses = {};
  std::map<std::string, MetricFactory> metrics = {};
  // What happens to an update of one of the model's variables that contains a
  // NaN or an infinity. The default ends Fit with an error; for TerminateOnNaN
  // to end it instead, set another value.
  NonFinite non_finite = NonFinite::kRefuse;
};

// Copies the values of a trainer's model from the servers into the parameters
// and buffers of a module with the same names, such as one that the model's
// factory made: for torch::save, or to continue without a cluster. Embeddings,
// whose tables exist only on the servers, are left out. Throws
// kInvalidArgument, naming the parameter, if the model has none of that name or
// it has another shape or type; f16 and bf16 are rounded from the f32 values on
// the servers.
CAPSTAN_EXPORT void CopyValues(Trainer& trainer, torch::nn::Module& module);
// The reverse, for example for values that torch::load has read.
CAPSTAN_EXPORT void AssignValues(Trainer& trainer,
                                 const torch::nn::Module& module);

// A module without its type.
struct TorchModule {
  std::shared_ptr<torch::nn::Module> module;
  std::function<torch::Tensor(const TorchBatch&)> forward;
};

// How a step of a custom loop trains; must match how the variables were
// created.
struct TrainMode {
  UpdateMode update = Async{};
  bool prefetch = false;
};

// The replicas of a model in one worker: one for each step that the worker runs
// at the same time. Thread-safe.
class CAPSTAN_EXPORT ReplicasBase {
 public:
  ReplicasBase(std::string model, std::function<TorchModule()> make);
  ~ReplicasBase();
  ReplicasBase(const ReplicasBase&) = delete;
  ReplicasBase& operator=(const ReplicasBase&) = delete;

 protected:
  double RunOn(WorkerContext& worker, const TrainMode& mode,
               const std::function<bool()>& more,
               const std::function<torch::Tensor(torch::nn::Module&)>& loss);

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

// For functions of a custom loop, as a PerWorker<Replicas<M>>:
//
//   double loss = replicas->Step(worker, [&](Classifier& model) {
//     return torch::nll_loss(model.forward(x), y);
//   });
template <typename M>
class Replicas : public ReplicasBase {
 public:
  using ReplicasBase::ReplicasBase;

  // One step: brings the parameters up to date, calls `loss`, computes the
  // gradients of what it returns, and applies each on the servers as soon as it
  // is available. Returns the value of the loss once all are applied. Throws
  // what `loss` throws, and as WorkerContext does.
  template <typename F>
  double Step(WorkerContext& worker, const F& loss,
              const TrainMode& mode = {}) {
    bool first = true;
    return RunOn(
        worker, mode, [&first] { return std::exchange(first, false); },
        [&loss](torch::nn::Module& module) {
          return loss(static_cast<M&>(module));
        });
  }

  // A step for each batch that `next` returns, until it returns nullopt, with
  // loss(model, batch). The next batch is made while the updates of the
  // previous one are in flight. Returns the last loss.
  template <typename Next, typename F>
  double Steps(WorkerContext& worker, const Next& next, const F& loss,
               const TrainMode& mode = {}) {
    std::invoke_result_t<const Next&> batch;
    return RunOn(
        worker, mode,
        [&] {
          batch = next();
          return batch.has_value();
        },
        [&](torch::nn::Module& module) {
          return loss(static_cast<M&>(module), *batch);
        });
  }
};

// A registered model, and its replicas for custom loops.
template <typename M>
class TorchModel : public Model {
 public:
  TorchModel(const Model& model, Resource<Replicas<M>> replicas)
      : Model(model), replicas_(std::move(replicas)) {}
  const Resource<Replicas<M>>& replicas() const { return replicas_; }

 private:
  Resource<Replicas<M>> replicas_;
};

// Registers a model, like AddModel in trainer.h. `make` is called for each
// replica.
CAPSTAN_EXPORT Model AddTorchModel(Definitions& program, std::string name,
                                   std::function<TorchModule()> make,
                                   TorchOptions options = {});

// The same for a function that returns a std::shared_ptr to a module, or a
// holder made by TORCH_MODULE. Its forward takes a torch::Tensor, the input, or
// a const TorchBatch&.
template <typename F>
requires std::is_invocable_v<const F&>
auto AddModel(Definitions& program, const std::string& name, F make,
              TorchOptions options = {}) {
  const auto pointer = [make = std::move(make)] {
    auto made = make();
    if constexpr (requires { made.ptr(); }) {
      return made.ptr();
    } else {
      return made;
    }
  };
  using M = typename std::invoke_result_t<decltype(pointer)&>::element_type;
  const std::function<TorchModule()> erase = [pointer] {
    const std::shared_ptr<M> module = pointer();
    TorchModule erased;
    erased.module = module;
    erased.forward =
        [at = module.get()](const TorchBatch& batch) -> torch::Tensor {
      if constexpr (requires { at->forward(batch); }) {
        return at->forward(batch);
      } else {
        return at->forward(batch.input());
      }
    };
    return erased;
  };
  const Model model = AddTorchModel(program, name, erase, std::move(options));
  return TorchModel<M>(
      model, program.AddResource(
                 name + "/modules", [name, erase](const InputContext&) {
                   return std::make_shared<Replicas<M>>(name, erase);
                 }));
}

}  // namespace capstan

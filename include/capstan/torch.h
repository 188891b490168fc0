// Models in libtorch: a torch::nn::Module whose parameters live on the servers.
//
//   struct Classifier : torch::nn::Module {
//     torch::nn::Linear hidden = register_module("hidden", ...);
//     torch::Tensor forward(torch::Tensor x) { ... }
//   };
//   auto model = AddModel(program, "classifier",
//                         [] { return std::make_shared<Classifier>(); });
//
// trainer.h trains it. docs/training.md says what becomes of parameters,
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

// The same memory as a tensor of libtorch's, which keeps it alive. What is
// written to one shows in the other.
CAPSTAN_EXPORT torch::Tensor ToTorch(const Tensor& tensor);
// The same memory, or a copy if it is not contiguous or not on the CPU. Throws
// kInvalidArgument for a type that Tensor has not.
CAPSTAN_EXPORT Tensor FromTorch(const torch::Tensor& tensor);

// A batch as a model sees it. Valid while forward runs.
class CAPSTAN_EXPORT TorchBatch {
 public:
  TorchBatch(const Example& batch, std::string input = "x")
      : batch_(batch), input_(std::move(input)) {}
  // Throws kNotFound, naming those that there are.
  torch::Tensor operator[](std::string_view name) const;
  // The one that FitOptions::input names.
  torch::Tensor input() const { return (*this)[input_]; }

 private:
  const Example& batch_;
  const std::string input_;
};

class RowSource;

// A table of `rows` vectors that lives on the servers alone: forward reads the
// rows of a batch, and backward sends the gradients of those. Like
// torch::nn::Embedding, but for models that AddModel has registered, as there
// is no table here.
class CAPSTAN_EXPORT EmbeddingImpl : public torch::nn::Module {
 public:
  // Without an optimizer of its own it has the trainer's, and without
  // `non_finite` that of the model's TorchOptions. Throws kInvalidArgument
  // unless `rows` and `dim` are at least 1.
  EmbeddingImpl(std::int64_t rows, std::int64_t dim,
                Initializer initializer = Uniform{},
                std::optional<Optimizer> optimizer = std::nullopt,
                std::optional<NonFinite> non_finite = std::nullopt);

  // Of ids (i64 or i32) of any shape, with one more axis of size dim. Throws
  // kOutOfRange for an id that is no row, kFailedPrecondition outside of a
  // step.
  torch::Tensor forward(const torch::Tensor& ids);

  // For the replica: where rows come from, while a step runs; null outside.
  void Attach(RowSource* source) { source_ = source; }
  // Its variable, but for the name, in a model of this `non_finite`.
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

// The loss of each example, of rank 1, or of all of them, of rank 0: then there
// can be no weights. Of predictions, as forward returns them, and targets.
using LossFunction = std::function<torch::Tensor(
    const torch::Tensor& predictions, const torch::Tensor& targets)>;

struct TorchOptions {
  // For CustomLoss and CustomMetric, by name.
  std::map<std::string, LossFunction> losses = {};
  std::map<std::string, MetricFactory> metrics = {};
  // What happens to an update of one of the model's variables with a NaN or an
  // infinity in it. The default ends Fit with an error; for TerminateOnNaN to
  // end it instead, it must be another.
  NonFinite non_finite = NonFinite::kRefuse;
};

// Copies the values of a trainer's model on the servers into the parameters and
// buffers of a module of the same names, such as one that the model's factory
// made: for torch::save, or to go on without a cluster. Embeddings, whose
// tables are on the servers alone, are left out. Throws kInvalidArgument,
// naming the parameter, if the model has none of that name or it has another
// shape or type; f16 and bf16 are rounded from the f32 that the servers have.
CAPSTAN_EXPORT void CopyValues(Trainer& trainer, torch::nn::Module& module);
// The other way: of what torch::load has read.
CAPSTAN_EXPORT void AssignValues(Trainer& trainer,
                                 const torch::nn::Module& module);

// A module without its type.
struct TorchModule {
  std::shared_ptr<torch::nn::Module> module;
  std::function<torch::Tensor(const TorchBatch&)> forward;
};

// How a step of a custom loop trains; as the variables were made.
struct TrainMode {
  UpdateMode update = Async{};
  bool prefetch = false;
};

// The replicas of a model in one worker: one for each step that it runs at
// once. Thread-safe.
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
  // gradients of what it returns, and applies them on the servers, each as soon
  // as it is there. Returns the value of the loss when all are applied. Throws
  // what `loss` throws, and as WorkerContext.
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

  // A step for each batch that `next` gives, until that is nullopt, as
  // loss(model, batch). The next batch is made while the updates of the one
  // before are on their way. Returns the last loss.
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

// A model that was registered, and its replicas for custom loops.
template <typename M>
class TorchModel : public Model {
 public:
  TorchModel(const Model& model, Resource<Replicas<M>> replicas)
      : Model(model), replicas_(std::move(replicas)) {}
  const Resource<Replicas<M>>& replicas() const { return replicas_; }

 private:
  Resource<Replicas<M>> replicas_;
};

// Registers a model, as the AddModel of trainer.h. `make` is called for each
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

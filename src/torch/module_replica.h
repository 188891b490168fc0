// A torch::nn::Module as a model: its parameters are copies of variables, its
// gradients updates of them.
//
// In a step of asynchronous training the values that come back with the
// updates are those of the next step, so that there is one exchange for each
// parameter and step and not two. They come while backward still runs, into the
// parameters' own memory: by the time that a parameter has its gradient,
// nothing that leads to the gradient is still to be computed.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "capstan/torch.h"
#include "capstan/trainer.h"
#include "torch/buffer_updates.h"
#include "torch/gradient_buckets.h"
#include "torch/row_source.h"

namespace capstan {

class ModuleReplica : public ModelReplica {
 public:
  // Throws kInvalidArgument for a module that cannot be trained so: one with
  // parameters of a type that has no gradients here, or with two in the same
  // memory.
  ModuleReplica(std::string model, TorchModule module,
                std::shared_ptr<const TorchOptions> options);
  ~ModuleReplica() override;

  std::vector<ModelVariable> Variables() override;
  void Train(WorkerContext& worker, const StepConfig& order,
             const NextBatch& next,
             std::span<const std::unique_ptr<MetricState>> metrics,
             StepReport& report) override;
  void Evaluate(WorkerContext& worker, const StepConfig& order,
                const NextBatch& next,
                std::span<const std::unique_ptr<MetricState>> metrics,
                StepReport& report) override;
  void Predict(WorkerContext& worker, const StepConfig& order,
               const NextBatch& next,
               const std::function<void(Tensor)>& give) override;

  // Steps of a custom loop, as long as there is `more`: `loss` computes what
  // backward starts from. Returns the last one's value.
  double RunSteps(WorkerContext& worker, const TrainMode& mode,
                  const std::function<bool()>& more,
                  const std::function<torch::Tensor(torch::nn::Module&)>& loss);

 private:
  using Time = std::chrono::steady_clock::time_point;
  class Timer;
  // What is done for each batch: `more` gets it ready, or says that there is
  // none; `loss` computes its loss; `done` is called while updates are on their
  // way.
  struct Batches {
    std::function<bool()> more;
    std::function<torch::Tensor()> loss;
    std::function<void()> done;
  };

  // Trains on all batches. `current` says that the values which came with the
  // last updates will do.
  void Run(WorkerContext& worker, const TrainMode& mode, const Batches& batches,
           bool current, StepReport& report);

  // Brings all copies up to date.
  void Pull(WorkerContext& worker, StepReport& report);
  // The same by a pull that has begun, if there is one; then there is none.
  void Pull(WorkerContext& worker, std::optional<PendingCall>& begun,
            StepReport& report);
  PendingCall StartPull(WorkerContext& worker, std::vector<VariableCopy>& of);
  // Whether that is so: they are young, and of this call of Fit.
  bool Fresh(const StepConfig& order) const;
  void TrainBatch(WorkerContext& worker, const TrainMode& mode,
                  const Batches& batches, StepReport& report);
  // Waits for what the last batch has sent.
  void FinishUpdates(StepReport& report);
  void Abandon() noexcept;
  // Begins a call: as many threads as the worker says, train or eval.
  void Prepare(WorkerContext& worker, bool train);
  // Lets the tensors have the values that were read ahead.
  void SwapAhead();
  // Rounds the values of those that are not f32, when newer ones have come.
  void RoundMasters();

  const std::string model_;
  const TorchModule module_;
  const std::shared_ptr<const TorchOptions> options_;

  // Variables, in this order: parameters that are trained, buffers, other
  // parameters.
  std::vector<std::string> names_;
  std::vector<torch::Tensor> tensors_;
  // Where the values of each come: the tensor itself, or for a parameter of f16
  // or bf16 its f32 master, of which it is the rounded form.
  std::vector<torch::Tensor> masters_;
  size_t num_trained_ = 0;
  size_t num_buffers_ = 0;
  std::vector<VariableCopy> copies_;
  std::unique_ptr<GradientBuckets> buckets_;
  std::unique_ptr<BufferUpdates> buffers_;
  RowSource rows_;
  // The names of the variables that get gradients, embeddings included, and
  // whether one of them is clipped by the norm of the whole gradient, if that
  // is known. Then the gradient is sent as one update.
  std::vector<std::string> updated_;
  bool clips_ = false;
  bool knows_clips_ = false;
  PendingCall whole_update_;

  // With prefetch: memory for the values of the next step.
  std::vector<torch::Tensor> ahead_;
  std::vector<VariableCopy> ahead_copies_;

  // The loss of the batch whose updates were sent last.
  double loss_ = 0;

  // What UseThreads was last told.
  int threads_ = 0;

  // Of which call of Fit they are.
  uint64_t call_ = 0;
  // When the newest values came, and how long the step before took; zero:
  // there are none.
  Time refreshed_{};
  std::chrono::steady_clock::duration step_time_{};
};

}  // namespace capstan

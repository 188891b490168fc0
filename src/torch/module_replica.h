// A torch::nn::Module as a model: its parameters are copies of variables, its
// gradients updates of them.
//
// In asynchronous training, the replies to the updates bring the values for the
// next step, so each step needs one exchange per parameter rather than two.
// They arrive while backward is still running, in the parameters' own memory.
// This is safe because once a parameter has its gradient, backward no longer
// reads the parameter.
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
  // Throws kInvalidArgument for a module that cannot be trained this way: one
  // with parameters of a type without gradient support, or with two parameters
  // in the same memory.
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

  // Runs steps of a custom loop while `more` returns true; `loss` computes the
  // loss for backward. Returns the last loss.
  double RunSteps(WorkerContext& worker, const TrainMode& mode,
                  const std::function<bool()>& more,
                  const std::function<torch::Tensor(torch::nn::Module&)>& loss);

 private:
  using Time = std::chrono::steady_clock::time_point;
  class Timer;
  // What to do for each batch: `more` prepares it or returns false if there is
  // none; `loss` computes its loss; `done` is called while its updates are in
  // flight.
  struct Batches {
    std::function<bool()> more;
    std::function<torch::Tensor()> loss;
    std::function<void()> done;
  };

  // Trains on all batches. `current`: the values that came with the last
  // updates are fresh enough to use.
  void Run(WorkerContext& worker, const TrainMode& mode, const Batches& batches,
           bool current, StepReport& report);

  // Brings all copies up to date.
  void Pull(WorkerContext& worker, StepReport& report);
  // Like Pull above, but uses the pull already begun, if any, and resets
  // `begun`.
  void Pull(WorkerContext& worker, std::optional<PendingCall>& begun,
            StepReport& report);
  PendingCall StartPull(WorkerContext& worker, std::vector<VariableCopy>& of);
  // Whether the values are fresh enough: recent, and from this call of Fit.
  bool Fresh(const StepConfig& order) const;
  void TrainBatch(WorkerContext& worker, const TrainMode& mode,
                  const Batches& batches, StepReport& report);
  // Waits for the updates of the last batch.
  void FinishUpdates(StepReport& report);
  void Abandon() noexcept;
  // Prepares a call: sets the worker's number of threads and train or eval
  // mode.
  void Prepare(WorkerContext& worker, bool train);
  // Gives the tensors the values that were read ahead.
  void SwapAhead();
  // Copies new f32 values, rounded, into the f16 and bf16 parameters.
  void RoundMasters();

  const std::string model_;
  const TorchModule module_;
  const std::shared_ptr<const TorchOptions> options_;

  // The variables in this order: trained parameters, buffers, other parameters.
  std::vector<std::string> names_;
  std::vector<torch::Tensor> tensors_;
  // Where the values of each are received: the tensor itself or, for an f16 or
  // bf16 parameter, its f32 master, of which the parameter is a rounded copy.
  std::vector<torch::Tensor> masters_;
  size_t num_trained_ = 0;
  size_t num_buffers_ = 0;
  std::vector<VariableCopy> copies_;
  std::unique_ptr<GradientBuckets> buckets_;
  std::unique_ptr<BufferUpdates> buffers_;
  RowSource rows_;
  // The names of the variables that get gradients, including embeddings, and
  // (if knows_clips_) whether one of them is clipped by the norm of the whole
  // gradient, in which case the gradient is sent as one update.
  std::vector<std::string> updated_;
  bool clips_ = false;
  bool knows_clips_ = false;
  PendingCall whole_update_;

  // With prefetch: memory for the values of the next step.
  std::vector<torch::Tensor> ahead_;
  std::vector<VariableCopy> ahead_copies_;

  // The loss of the batch whose updates were sent last.
  double loss_ = 0;

  // The last argument of UseThreads.
  int threads_ = 0;

  // The call of Fit that the values are from.
  uint64_t call_ = 0;
  // When the newest values arrived (zero: there are none), and how long the
  // last step took.
  Time refreshed_{};
  std::chrono::steady_clock::duration step_time_{};
};

}  // namespace capstan

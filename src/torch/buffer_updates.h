// Sends what forward has made of a module's buffers. docs/decisions/031 says
// why each kind goes by the rule that it does.
#pragma once

#include <torch/nn.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "capstan/optimizer.h"
#include "capstan/variable.h"
#include "capstan/worker.h"

namespace capstan {

// Used by the thread of the step. A step begins with Begin and ends with Finish
// or Abandon.
class BufferUpdates {
 public:
  // Of `module`, which keeps them.
  BufferUpdates(const torch::nn::Module& module,
                std::vector<torch::Tensor> buffers);

  // What the variable of a buffer is to be made with.
  std::optional<Optimizer> OptimizerOf(size_t buffer) const;

  // Updates that a step reserves.
  uint32_t num_updates() const { return buffers_.empty() ? 0 : kKinds; }

  // Forward is about to run.
  void Begin();
  // Forward has run: sends what it has changed, as the updates from `first` on.
  // `copies` are of the buffers, and get the values after it if `refresh` is
  // set.
  void Send(WorkerContext& worker, uint32_t first,
            std::span<VariableCopy> copies, const UpdateMode& mode,
            bool refresh);
  // Waits for all updates. Throws what went wrong.
  void Finish();
  // Waits without throwing.
  void Abandon() noexcept;

 private:
  // By gradient, sum and assignment.
  static constexpr uint32_t kKinds = 3;

  // A batch norm's statistics are moving averages.
  struct Average {
    std::optional<double> momentum;  // none: the mean of all batches
    torch::Tensor counter;           // of the batches
  };
  struct Buffer {
    torch::Tensor tensor;
    std::optional<Average> average = {};
    torch::Tensor before = {};
    int64_t counted = 0;  // by the counter, before
  };

  template <typename Norm>
  void FindAverages(const torch::nn::Module& module);
  // What the average has moved towards.
  static torch::Tensor Target(const Buffer& buffer);

  std::vector<Buffer> buffers_;
  // What is sent.
  std::vector<torch::Tensor> operands_;
  std::vector<PendingCall> updates_;
};

}  // namespace capstan

// Sends the changes that forward made to a module's buffers. docs/decisions/031
// explains the rule for each kind of buffer.
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
  // `buffers` are those of `module`, which owns them.
  BufferUpdates(const torch::nn::Module& module,
                std::vector<torch::Tensor> buffers);

  // The optimizer to create a buffer's variable with.
  std::optional<Optimizer> OptimizerOf(size_t buffer) const;

  // The number of updates that a step reserves.
  uint32_t num_updates() const { return buffers_.empty() ? 0 : kKinds; }

  // Call before forward.
  void Begin();
  // Call after forward: sends what it changed, as the updates numbered from
  // `first`. `copies` are those of the buffers; if `refresh` is set they get
  // the values after the update.
  void Send(WorkerContext& worker, uint32_t first,
            std::span<VariableCopy> copies, const UpdateMode& mode,
            bool refresh);
  // Waits for all updates. Throws the error if one failed.
  void Finish();
  // Waits without throwing.
  void Abandon() noexcept;

 private:
  // By gradient, sum and assignment.
  static constexpr uint32_t kKinds = 3;

  // A moving average, as the statistics of a batch norm are.
  struct Average {
    std::optional<double> momentum;  // nullopt: the mean of all batches
    torch::Tensor counter;           // number of batches seen
  };
  struct Buffer {
    torch::Tensor tensor;
    std::optional<Average> average = {};
    torch::Tensor before = {};
    int64_t counted = 0;  // the counter's value before forward
  };

  template <typename Norm>
  void FindAverages(const torch::nn::Module& module);
  // The value that the average has moved towards.
  static torch::Tensor Target(const Buffer& buffer);

  std::vector<Buffer> buffers_;
  // The memory of the updates being sent.
  std::vector<torch::Tensor> operands_;
  std::vector<PendingCall> updates_;
};

}  // namespace capstan

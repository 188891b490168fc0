#include "torch/buffer_updates.h"

#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "torch/dtype.h"

namespace capstan {
namespace {

// Compares bits, so that an unchanged NaN counts as equal.
bool SameBits(const torch::Tensor& a, const torch::Tensor& b) {
  return a.nbytes() == 0 ||
         std::memcmp(a.data_ptr(), b.data_ptr(), a.nbytes()) == 0;
}

}  // namespace

BufferUpdates::BufferUpdates(const torch::nn::Module& module,
                             std::vector<torch::Tensor> buffers) {
  for (torch::Tensor& buffer : buffers) {
    buffers_.push_back({.tensor = std::move(buffer)});
  }
  FindAverages<torch::nn::BatchNorm1dImpl>(module);
  FindAverages<torch::nn::BatchNorm2dImpl>(module);
  FindAverages<torch::nn::BatchNorm3dImpl>(module);
}

template <typename Norm>
void BufferUpdates::FindAverages(const torch::nn::Module& module) {
  for (const std::shared_ptr<torch::nn::Module>& item : module.modules()) {
    const auto* norm = dynamic_cast<const Norm*>(item.get());
    if (norm == nullptr || !norm->num_batches_tracked.defined()) continue;
    const c10::optional<double> momentum = norm->options.momentum();
    // With other momenta, the statistics are not averages.
    if (momentum && !(*momentum > 0 && *momentum <= 1)) continue;
    for (Buffer& buffer : buffers_) {
      if (!buffer.tensor.is_same(norm->running_mean) &&
          !buffer.tensor.is_same(norm->running_var)) {
        continue;
      }
      if (buffer.tensor.scalar_type() != torch::kFloat32) continue;
      buffer.average.emplace();
      if (momentum) buffer.average->momentum = *momentum;
      buffer.average->counter = norm->num_batches_tracked;
    }
  }
}

std::optional<Optimizer> BufferUpdates::OptimizerOf(size_t index) const {
  const Buffer& buffer = buffers_[index];
  if (buffer.tensor.scalar_type() != torch::kFloat32) return std::nullopt;
  if (!buffer.average) return Sgd{.learning_rate = 1.0};
  // With minus the target as the gradient:
  //   value -= rate * (value - target).
  LearningRate rate = InverseTimeDecay{.initial = 1, .steps = 1, .rate = 1};
  if (buffer.average->momentum) rate = *buffer.average->momentum;
  Optimizer optimizer = Sgd{.learning_rate = rate};
  optimizer.weight_decay = 1;
  return optimizer;
}

void BufferUpdates::Begin() {
  const torch::NoGradGuard no_gradients;
  for (Buffer& buffer : buffers_) {
    if (!buffer.average) continue;
    // So that forward computes the mean of this step's batches only: the
    // servers know how many there were before.
    if (!buffer.average->momentum) buffer.average->counter.zero_();
    buffer.counted = buffer.average->counter.item<int64_t>();
  }
  for (Buffer& buffer : buffers_) buffer.before = buffer.tensor.clone();
}

torch::Tensor BufferUpdates::Target(const Buffer& buffer) {
  const int64_t batches =
      buffer.average->counter.item<int64_t>() - buffer.counted;
  if (batches == 0 || !buffer.average->momentum) return buffer.tensor;
  // after = kept * before + (1 - kept) * target. If forward used the layer
  // several times, the target is the average of these uses.
  const double kept =
      std::pow(1 - *buffer.average->momentum, static_cast<double>(batches));
  return (buffer.tensor - kept * buffer.before) / (1 - kept);
}

void BufferUpdates::Send(WorkerContext& worker, uint32_t first,
                         std::span<VariableCopy> copies, const UpdateMode& mode,
                         bool refresh) {
  const torch::NoGradGuard no_gradients;
  const bool sync = std::holds_alternative<Sync>(mode);
  std::array<std::vector<CopyGradient>, kKinds> kinds;
  auto& [gradients, sums, assignments] = kinds;
  operands_.clear();
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const Buffer& buffer = buffers_[i];
    // The mean of a round is taken over the targets of all replicas.
    const bool always = sync && buffer.average;
    if (!always && SameBits(buffer.tensor, buffer.before)) continue;
    const torch::ScalarType type = buffer.tensor.scalar_type();
    std::vector<CopyGradient>* kind = &assignments;
    torch::Tensor operand;
    if (buffer.average) {
      kind = &gradients;
      operand = -Target(buffer);
    } else if (type == torch::kFloat32 && sync) {
      kind = &gradients;
      operand = buffer.before - buffer.tensor;
    } else if (torch::isIntegralType(type, /*includeBool=*/false)) {
      kind = &sums;
      operand = buffer.tensor - buffer.before;
    } else {
      operand = buffer.tensor.clone();
    }
    operands_.push_back(std::move(operand));
    kind->push_back({.copy = &copies[i], .gradient = ViewOf(operands_.back())});
    // Forward wrote to the buffer, so its value is not what the servers have.
    if (!refresh) copies[i].Forget();
  }
  constexpr std::array<Operation, kKinds> kOperations = {
      Operation::kGradient, Operation::kAdd, Operation::kSet};
  for (uint32_t i = 0; i < kKinds; ++i) {
    if (kinds[i].empty()) continue;
    updates_.push_back(
        worker.StartApply(first + i, kOperations[i], kinds[i], {}, refresh));
  }
}

void BufferUpdates::Finish() {
  for (PendingCall& update : updates_) update.Wait();
  updates_.clear();
}

void BufferUpdates::Abandon() noexcept { updates_.clear(); }

}  // namespace capstan

#include <torch/types.h>

#include <memory>
#include <vector>

#include "capstan/torch.h"
#include "torch/dtype.h"

namespace capstan {

torch::Tensor ToTorch(const Tensor& tensor) {
  const std::span<const int64_t> dims = tensor.shape().dims();
  const torch::TensorOptions options =
      torch::TensorOptions().dtype(ScalarTypeOf(tensor.dtype()));
  if (tensor.shape().num_elements() == 0) {
    return torch::empty(torch::IntArrayRef(dims.data(), dims.size()), options);
  }
  std::shared_ptr<void> memory = tensor.memory();
  void* data = memory.get();
  return torch::from_blob(
      data, torch::IntArrayRef(dims.data(), dims.size()),
      [memory = std::move(memory)](void*) {}, options);
}

Tensor FromTorch(const torch::Tensor& tensor) {
  const torch::Tensor dense = tensor.detach().to(torch::kCPU).contiguous();
  auto owner = std::make_shared<torch::Tensor>(dense);
  return Tensor(DTypeOf(dense.scalar_type()), ShapeOf(dense),
                std::shared_ptr<void>(owner, dense.data_ptr()));
}

torch::Tensor TorchBatch::operator[](std::string_view name) const {
  return ToTorch(batch_[name]);
}

}  // namespace capstan

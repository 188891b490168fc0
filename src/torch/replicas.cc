#include <mutex>
#include <utility>
#include <vector>

#include "capstan/torch.h"
#include "torch/module_replica.h"

namespace capstan {

struct ReplicasBase::Impl {
  const std::string model;
  const std::function<TorchModule()> make;

  std::mutex mutex = {};
  // Not in use by a step. Guarded by mutex.
  std::vector<std::unique_ptr<ModuleReplica>> free = {};
};

ReplicasBase::ReplicasBase(std::string model, std::function<TorchModule()> make)
    : impl_(new Impl{.model = std::move(model), .make = std::move(make)}) {}

ReplicasBase::~ReplicasBase() = default;

double ReplicasBase::RunOn(
    WorkerContext& worker, const TrainMode& mode,
    const std::function<bool()>& more,
    const std::function<torch::Tensor(torch::nn::Module&)>& loss) {
  std::unique_ptr<ModuleReplica> replica;
  {
    const std::lock_guard lock(impl_->mutex);
    if (!impl_->free.empty()) {
      replica = std::move(impl_->free.back());
      impl_->free.pop_back();
    }
  }
  if (replica == nullptr) {
    replica = std::make_unique<ModuleReplica>(
        impl_->model, impl_->make(), std::make_shared<const TorchOptions>());
  }
  // Not returned if the step throws: the next step then starts with a new
  // replica.
  const double value = replica->RunSteps(worker, mode, more, loss);
  const std::lock_guard lock(impl_->mutex);
  impl_->free.push_back(std::move(replica));
  return value;
}

}  // namespace capstan

// Sends the gradients of a module's parameters while backward is still
// computing others: parameters are put into buckets, starting from the last,
// and a bucket is sent when all its gradients are ready.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "capstan/worker.h"

namespace capstan {

// Used by the step's thread, on which backward also runs its callbacks. A step
// begins with Begin and ends with Finish or Abandon; a step that sends its
// gradient as a whole calls TakeAll in place of Begin and Flush.
class GradientBuckets {
 public:
  // Every bucket but the last has at least `bytes` bytes. A parameter's bucket
  // depends on the module only, because a step that is rerun elsewhere must
  // send the same updates.
  GradientBuckets(std::vector<torch::Tensor> parameters, size_t bytes);
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  uint32_t size() const { return static_cast<uint32_t>(buckets_.size()); }

  // Call before backward. Buckets are the updates numbered from `first`;
  // `copies` are those of the parameters, and if `refresh` is set they get the
  // values after the updates.
  void Begin(WorkerContext& worker, uint32_t first,
             std::span<VariableCopy> copies, bool refresh);
  // Call after backward: sends the remaining buckets. Parameters without a
  // gradient are left out of the step.
  void Flush();
  // Call after a backward without Begin: returns all gradients, for the caller
  // to send. The memory they view stays valid until the next step or Abandon.
  std::vector<CopyGradient> TakeAll(std::span<VariableCopy> copies);
  // Waits for all updates. Throws the error if one failed.
  void Finish();
  // Waits without throwing: the results of this step are no longer needed.
  void Abandon() noexcept;

 private:
  class Hook;
  struct Bucket {
    std::vector<size_t> parameters;  // indices into parameters_
    size_t missing = 0;
    bool sent = false;
    PendingCall update = {};
    std::vector<torch::Tensor> gradients = {};  // the memory being sent
  };

  void Arrived(size_t parameter);
  // Moves the gradients of a bucket's parameters into the bucket and adds views
  // of them to `items`.
  void Take(Bucket& bucket, std::span<VariableCopy> copies,
            std::vector<CopyGradient>& items);
  void Send(size_t bucket);

  std::vector<torch::Tensor> parameters_;
  std::vector<size_t> bucket_of_;
  std::vector<Bucket> buckets_;
  // Kept alive here, because autograd holds only weak references.
  std::vector<std::shared_ptr<void>> accumulators_;

  // The current step.
  WorkerContext* worker_ = nullptr;
  uint32_t first_ = 0;
  std::span<VariableCopy> copies_;
  bool refresh_ = false;
};

}  // namespace capstan

// Sends the gradients of a module's parameters while backward still computes
// others: parameters are put into buckets, from the last one on, and a bucket
// goes when all its gradients are there.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "capstan/worker.h"

namespace capstan {

// Used by the thread of the step, which is also the one that backward calls
// back on. A step begins with Begin and ends with Finish or Abandon; one that
// sends its gradient as a whole has TakeAll between.
class GradientBuckets {
 public:
  // The parameters and the copy of each. Buckets have at least `bytes` bytes,
  // but the last one. Which bucket a parameter is in depends on the module
  // alone: a step that is run again elsewhere must send the same updates.
  GradientBuckets(std::vector<torch::Tensor> parameters, size_t bytes);
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  uint32_t size() const { return static_cast<uint32_t>(buckets_.size()); }

  // Backward is about to run. Buckets are the updates from `first` on; `copies`
  // are of the parameters, and get the values after them if `refresh` is set.
  void Begin(WorkerContext& worker, uint32_t first,
             std::span<VariableCopy> copies, bool refresh);
  // Backward has run: sends what is left. Parameters without a gradient have no
  // part in the step.
  void Flush();
  // Backward has run without Begin: all gradients, for the caller to send. What
  // they are views of lasts until the next step, or Abandon.
  std::vector<CopyGradient> TakeAll(std::span<VariableCopy> copies);
  // Waits for all updates. Throws what went wrong.
  void Finish();
  // Waits without throwing: nobody wants this step's any more.
  void Abandon() noexcept;

 private:
  class Hook;
  struct Bucket {
    std::vector<size_t> parameters;  // by their numbers
    size_t missing = 0;
    bool sent = false;
    PendingCall update = {};
    std::vector<torch::Tensor> gradients = {};  // what it sends
  };

  void Arrived(size_t parameter);
  // Adds the gradients of a bucket, which it keeps, to `items`.
  void Take(Bucket& bucket, std::span<VariableCopy> copies,
            std::vector<CopyGradient>& items);
  void Send(size_t bucket);

  std::vector<torch::Tensor> parameters_;
  std::vector<size_t> bucket_of_;
  std::vector<Bucket> buckets_;
  // Autograd keeps them weakly.
  std::vector<std::shared_ptr<void>> accumulators_;

  // Of the step.
  WorkerContext* worker_ = nullptr;
  uint32_t first_ = 0;
  std::span<VariableCopy> copies_;
  bool refresh_ = false;
};

}  // namespace capstan

#include "torch/gradient_buckets.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <utility>

#include "capstan/error.h"
#include "torch/dtype.h"

namespace capstan {

// Called when a parameter's gradient has been stored in the parameter.
class GradientBuckets::Hook : public torch::autograd::FunctionPostHook {
 public:
  Hook(GradientBuckets& buckets, size_t parameter)
      : buckets_(buckets), parameter_(parameter) {}
  torch::autograd::variable_list operator()(
      const torch::autograd::variable_list& outputs,
      const torch::autograd::variable_list& /*inputs*/) override {
    buckets_.Arrived(parameter_);
    return outputs;
  }

 private:
  GradientBuckets& buckets_;
  const size_t parameter_;
};

GradientBuckets::GradientBuckets(std::vector<torch::Tensor> parameters,
                                 size_t bytes)
    : parameters_(std::move(parameters)), bucket_of_(parameters_.size()) {
  size_t filled = 0;
  // Backward computes the gradients of the last layer first.
  for (size_t i = parameters_.size(); i-- > 0;) {
    if (buckets_.empty() || filled >= bytes) {
      buckets_.emplace_back();
      filled = 0;
    }
    bucket_of_[i] = buckets_.size() - 1;
    buckets_.back().parameters.push_back(i);
    filled += parameters_[i].nbytes();
    auto accumulator = torch::autograd::impl::grad_accumulator(parameters_[i]);
    accumulator->add_post_hook(std::make_unique<Hook>(*this, i));
    // A std::shared_ptr in libtorch 1 and a c10::intrusive_ptr in 2.
    accumulators_.push_back(
        std::make_shared<decltype(accumulator)>(std::move(accumulator)));
  }
}

GradientBuckets::~GradientBuckets() { Abandon(); }

void GradientBuckets::Begin(WorkerContext& worker, uint32_t first,
                            std::span<VariableCopy> copies, bool refresh) {
  worker_ = &worker;
  first_ = first;
  copies_ = copies;
  refresh_ = refresh;
  for (Bucket& bucket : buckets_) {
    bucket.missing = bucket.parameters.size();
    bucket.sent = false;
  }
}

void GradientBuckets::Arrived(size_t parameter) {
  // Not this step's backward, but another one, such as one inside forward.
  if (worker_ == nullptr) return;
  const size_t bucket = bucket_of_[parameter];
  if (--buckets_[bucket].missing == 0) Send(bucket);
}

void GradientBuckets::Take(Bucket& bucket, std::span<VariableCopy> copies,
                           std::vector<CopyGradient>& items) {
  bucket.gradients.clear();
  for (const size_t i : bucket.parameters) {
    torch::Tensor& gradient = parameters_[i].mutable_grad();
    if (!gradient.defined()) continue;
    if (gradient.is_sparse()) {
      throw Error(ErrorCode::kInvalidArgument,
                  "variable '" + copies[i].variable() +
                      "' has a sparse gradient: use capstan::Embedding, whose "
                      "rows are on the servers, or a dense one");
    }
    bucket.gradients.push_back(gradient.contiguous());
    // So that the next step's gradient is stored instead of being added to this
    // one.
    gradient.reset();
    items.push_back(
        {.copy = &copies[i], .gradient = ViewOf(bucket.gradients.back())});
  }
}

void GradientBuckets::Send(size_t index) {
  Bucket& bucket = buckets_[index];
  bucket.sent = true;
  std::vector<CopyGradient> items;
  Take(bucket, copies_, items);
  if (items.empty()) return;
  bucket.update = worker_->StartGradients(first_ + static_cast<uint32_t>(index),
                                          items, {}, refresh_);
}

std::vector<CopyGradient> GradientBuckets::TakeAll(
    std::span<VariableCopy> copies) {
  std::vector<CopyGradient> items;
  for (Bucket& bucket : buckets_) Take(bucket, copies, items);
  return items;
}

void GradientBuckets::Flush() {
  for (size_t i = 0; i < buckets_.size(); ++i) {
    if (!buckets_[i].sent) Send(i);
  }
  worker_ = nullptr;
}

void GradientBuckets::Finish() {
  for (Bucket& bucket : buckets_) bucket.update.Wait();
}

void GradientBuckets::Abandon() noexcept {
  worker_ = nullptr;
  for (Bucket& bucket : buckets_) {
    bucket.update = PendingCall();
    bucket.gradients.clear();
  }
  for (torch::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
}

}  // namespace capstan

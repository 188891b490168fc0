#include "torch/module_replica.h"

#include <cmath>
#include <utility>

#include "capstan/error.h"
#include "torch/dtype.h"
#include "torch/loss.h"
#include "torch/module_tensors.h"
#include "torch/threads.h"
#include "torch/weights.h"

namespace capstan {
namespace {

// Small enough that buckets are sent while there is still something to compute,
// large enough that there are not many.
constexpr size_t kBucketBytes = 128 << 10;

bool IsTrained(const torch::Tensor& tensor) {
  return tensor.is_floating_point() && tensor.requires_grad();
}

void CheckParameter(const std::string& name, const torch::Tensor& tensor) {
  const torch::ScalarType type = tensor.scalar_type();
  if (!tensor.requires_grad() || type == torch::kFloat32 ||
      type == torch::kFloat16 || type == torch::kBFloat16) {
    return;
  }
  throw Error(ErrorCode::kInvalidArgument,
              "parameter '" + name + "' is " + c10::toString(type) +
                  "; parameters that are trained must be f32, f16 or bf16");
}

// One tensor may have two names, but two tensors must not share memory: an
// update of one would change the value of the other.
void CheckMemory(const std::vector<Named<torch::Tensor>>& parameters) {
  std::map<const void*, std::string> names;
  for (const auto& [name, tensor] : parameters) {
    if (tensor.numel() == 0) continue;
    const auto [found, is_new] = names.emplace(tensor.data_ptr(), name);
    if (is_new) continue;
    throw Error(ErrorCode::kInvalidArgument,
                "parameters '" + found->second + "' and '" + name +
                    "' are two tensors that share memory; to tie them, "
                    "register one tensor, or one module, under both names");
  }
}

// Values are received into the tensor's memory in row-major order.
void MakeContiguous(const torch::Tensor& tensor) {
  if (!tensor.is_contiguous()) tensor.set_data(tensor.data().contiguous());
}

std::vector<VariableCopy> CopiesOf(const std::vector<std::string>& names,
                                   const std::vector<torch::Tensor>& tensors) {
  std::vector<VariableCopy> copies;
  copies.reserve(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    copies.emplace_back(names[i], ViewOf(tensors[i]));
  }
  return copies;
}

// Rethrows libtorch's errors as Error, without their backtraces.
template <typename Function>
void Translated(const Function& function) {
  try {
    function();
  } catch (const c10::Error& error) {
    throw Error(ErrorCode::kInvalidArgument, error.what_without_backtrace());
  }
}

}  // namespace

// Adds its lifetime to a counter, in ns.
class ModuleReplica::Timer {
 public:
  explicit Timer(int64_t& counter) : counter_(counter) {}
  ~Timer() { counter_ += (std::chrono::steady_clock::now() - start_).count(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  int64_t& counter_;
  const Time start_ = std::chrono::steady_clock::now();
};

ModuleReplica::ModuleReplica(std::string model, TorchModule module,
                             std::shared_ptr<const TorchOptions> options)
    : model_(std::move(model)),
      module_(std::move(module)),
      options_(std::move(options)) {
  const auto add = [this](const std::string& name,
                          const torch::Tensor& tensor) {
    names_.push_back(model_ + "/" + name);
    tensors_.push_back(tensor);
  };
  const torch::NoGradGuard no_gradients;
  const ModuleTensors found = TensorsOf(*module_.module);
  CheckMemory(found.parameters);
  for (const auto& [name, parameter] : found.parameters) {
    CheckParameter(name, parameter);
    MakeContiguous(parameter);
    if (IsTrained(parameter)) add(name, parameter);
  }
  num_trained_ = tensors_.size();
  updated_ = names_;
  for (const auto& [name, buffer] : found.buffers) {
    MakeContiguous(buffer);
    add(name, buffer);
  }
  num_buffers_ = found.buffers.size();
  const auto buffers =
      tensors_.begin() + static_cast<std::ptrdiff_t>(num_trained_);
  buckets_ = std::make_unique<GradientBuckets>(
      std::vector<torch::Tensor>(tensors_.begin(), buffers), kBucketBytes);
  buffers_ = std::make_unique<BufferUpdates>(
      *module_.module, std::vector<torch::Tensor>(buffers, tensors_.end()));
  for (const auto& [name, parameter] : found.parameters) {
    if (!IsTrained(parameter)) add(name, parameter);
  }
  masters_ = tensors_;
  for (size_t i = 0; i < num_trained_; ++i) {
    if (IsHalf(tensors_[i])) {
      masters_[i] = tensors_[i].detach().to(torch::kFloat32);
    }
  }
  copies_ = CopiesOf(names_, masters_);
  for (const auto& [name, embedding] : EmbeddingsOf(*module_.module)) {
    updated_.push_back(model_ + "/" + name + ".weight");
    rows_.Add(embedding, updated_.back());
  }
}

ModuleReplica::~ModuleReplica() = default;

std::vector<ModelVariable> ModuleReplica::Variables() {
  std::vector<ModelVariable> variables;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    ModelVariable& variable = variables.emplace_back();
    variable.spec.name = names_[i];
    variable.spec.shape = ShapeOf(masters_[i]);
    variable.spec.dtype = DTypeOf(masters_[i].scalar_type());
    variable.spec.non_finite = options_->non_finite;
    variable.spec.trainable = i < num_trained_;
    // A mask, for example.
    if (i >= num_trained_ && !torch::isfinite(tensors_[i]).all().item<bool>()) {
      variable.spec.non_finite = NonFinite::kAccept;
    }
    if (i >= num_trained_ && i < num_trained_ + num_buffers_) {
      variable.spec.optimizer = buffers_->OptimizerOf(i - num_trained_);
    }
    variable.initial = Tensor::CopyOf(ViewOf(masters_[i].contiguous()));
  }
  for (const auto& [name, embedding] : EmbeddingsOf(*module_.module)) {
    ModelVariable& variable = variables.emplace_back();
    variable.spec = embedding->Spec(options_->non_finite);
    variable.spec.name = model_ + "/" + name + ".weight";
    variable.by_rows = true;
  }
  return variables;
}

void ModuleReplica::Prepare(WorkerContext& worker, bool train) {
  const int threads = worker.compute_threads();
  if (threads != threads_) UseThreads(threads);
  threads_ = threads;
  if (module_.module->is_training() != train) module_.module->train(train);
}

PendingCall ModuleReplica::StartPull(WorkerContext& worker,
                                     std::vector<VariableCopy>& of) {
  std::vector<VariableCopy*> copies;
  copies.reserve(of.size());
  for (VariableCopy& copy : of) copies.push_back(&copy);
  return worker.StartPull(copies);
}

void ModuleReplica::Pull(WorkerContext& worker, StepReport& report) {
  std::optional<PendingCall> none;
  Pull(worker, none, report);
}

void ModuleReplica::Pull(WorkerContext& worker,
                         std::optional<PendingCall>& begun,
                         StepReport& report) {
  const Timer timer(report.pull_ns);
  if (!begun) begun = StartPull(worker, copies_);
  begun->Wait();
  begun.reset();
}

bool ModuleReplica::Fresh(const StepConfig& order) const {
  if (!std::holds_alternative<Async>(order.update)) return false;
  if (refreshed_ == Time() || order.call != call_) return false;
  // No older than the values of a step that pulls are when it finishes.
  return std::chrono::steady_clock::now() - refreshed_ < step_time_;
}

void ModuleReplica::TrainBatch(WorkerContext& worker, const TrainMode& mode,
                               const Batches& batches, StepReport& report) {
  const Timer timer(report.compute_ns);
  const bool refresh =
      std::holds_alternative<Async>(mode.update) && !mode.prefetch;
  buffers_->Begin();
  rows_.Begin(worker, true);
  const torch::Tensor loss = batches.loss();
  const int64_t read_ns = rows_.TakeReadNs();
  report.pull_ns += read_ns;
  report.compute_ns -= read_ns;
  // With prefetch, the previous batch's updates may still be in flight, and
  // their memory is needed now.
  FinishUpdates(report);
  // The same numbers in every run of the step, regardless of the order in which
  // backward computes gradients.
  const uint32_t first = worker.ReserveUpdates(
      buckets_->size() + rows_.num_updates() + buffers_->num_updates());
  rows_.ExpectGradients(first + buckets_->size(), clips_);
  if (!clips_) buckets_->Begin(worker, first, copies_, refresh);
  buffers_->Send(worker, first + buckets_->size() + rows_.num_updates(),
                 std::span(copies_).subspan(num_trained_, num_buffers_),
                 mode.update, refresh);
  loss.backward();
  if (clips_) {
    // The client clips the gradient as one update, because the scale depends on
    // all of it.
    const std::vector<CopyGradient> gradients = buckets_->TakeAll(copies_);
    const std::vector<RowGradient> rows = rows_.TakeAll();
    whole_update_ = worker.StartGradients(first, gradients, rows, refresh);
  } else {
    buckets_->Flush();
    rows_.Flush();
  }
  batches.done();
  loss_ = loss.item<double>();
}

void ModuleReplica::FinishUpdates(StepReport& report) {
  const Timer timer(report.push_ns);
  try {
    whole_update_.Wait();
    buckets_->Finish();
    buffers_->Finish();
    rows_.Finish();
  } catch (const Error& error) {
    // If the loss is not finite, it is the cause of the refused gradient.
    if (error.code() != ErrorCode::kInvalidArgument || std::isfinite(loss_)) {
      throw;
    }
    throw Error(error.code(),
                std::string("the loss is ") +
                    (std::isnan(loss_) ? "NaN" : "infinite") + "; " +
                    std::string(error.message()),
                error.task());
  }
}

void ModuleReplica::Abandon() noexcept {
  whole_update_ = PendingCall();
  buckets_->Abandon();
  buffers_->Abandon();
  rows_.Abandon();
  refreshed_ = Time();
}

void ModuleReplica::SwapAhead() {
  const torch::NoGradGuard no_gradients;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const torch::Tensor old = masters_[i].data();
    masters_[i].set_data(ahead_[i]);
    ahead_[i] = old;
  }
  std::swap(copies_, ahead_copies_);
}

void ModuleReplica::RoundMasters() {
  const torch::NoGradGuard no_gradients;
  for (size_t i = 0; i < num_trained_; ++i) {
    if (!masters_[i].is_same(tensors_[i])) tensors_[i].copy_(masters_[i]);
  }
}

void ModuleReplica::Run(WorkerContext& worker, const TrainMode& mode,
                        const Batches& batches, bool current,
                        StepReport& report) {
  Prepare(worker, true);
  // In the other modes, reads obey a staleness bound or belong to a round, so
  // values that came with an update cannot be used.
  const bool async = std::holds_alternative<Async>(mode.update);
  if (mode.prefetch && ahead_.empty()) {
    for (const torch::Tensor& master : masters_) {
      ahead_.push_back(master.detach().clone());
    }
    ahead_copies_ = CopiesOf(names_, ahead_);
  }
  try {
    PendingCall ahead;
    // Pull values while the first batch is being prepared.
    std::optional<PendingCall> first;
    PendingCall clips;
    if (!current) first = StartPull(worker, copies_);
    if (!knows_clips_) clips = worker.StartFindGlobalClip(updated_, clips_);
    while (batches.more()) {
      const Time start = std::chrono::steady_clock::now();
      // The previous batch's updates bring the values of this one.
      if (!mode.prefetch) FinishUpdates(report);
      if (!current) Pull(worker, first, report);
      clips.Wait();
      knows_clips_ = true;
      if (mode.prefetch) ahead = StartPull(worker, ahead_copies_);
      RoundMasters();
      Translated([&] { TrainBatch(worker, mode, batches, report); });
      if (mode.prefetch) {
        {
          const Timer timer(report.pull_ns);
          ahead.Wait();
        }
        SwapAhead();
      }
      current = async;
      step_time_ = std::chrono::steady_clock::now() - start;
    }
    FinishUpdates(report);
    rows_.Abandon();
    refreshed_ = async ? std::chrono::steady_clock::now() : Time();
  } catch (...) {
    Abandon();
    throw;
  }
}

void ModuleReplica::Train(WorkerContext& worker, const StepConfig& order,
                          const NextBatch& next,
                          std::span<const std::unique_ptr<MetricState>> metrics,
                          StepReport& report) {
  std::optional<Example> batch;
  torch::Tensor predictions;
  WeightedLoss loss;
  Batches batches;
  batches.more = [&] {
    batch = next();
    return batch.has_value();
  };
  batches.loss = [&] {
    const TorchBatch inputs(*batch, order.input);
    predictions = module_.forward(inputs);
    loss = ComputeLoss(order, predictions, (*batch)[order.target], *batch,
                       options_->losses);
    return loss.mean;
  };
  batches.done = [&] {
    AddToReport(loss, predictions, (*batch)[order.target], metrics, report);
  };
  const TrainMode mode{.update = order.update, .prefetch = order.prefetch};
  const bool current = Fresh(order);
  knows_clips_ &= order.call == call_;
  call_ = order.call;
  Run(worker, mode, batches, current, report);
}

double ModuleReplica::RunSteps(
    WorkerContext& worker, const TrainMode& mode,
    const std::function<bool()>& more,
    const std::function<torch::Tensor(torch::nn::Module&)>& loss) {
  double value = 0;
  torch::Tensor computed;
  Batches batches;
  batches.more = more;
  batches.loss = [&] { return computed = loss(*module_.module); };
  batches.done = [&] { value = computed.item<double>(); };
  StepReport report;
  // The custom loop may have changed or recreated variables meanwhile.
  knows_clips_ = false;
  Run(worker, mode, batches, false, report);
  return value;
}

void ModuleReplica::Evaluate(
    WorkerContext& worker, const StepConfig& order, const NextBatch& next,
    std::span<const std::unique_ptr<MetricState>> metrics, StepReport& report) {
  Prepare(worker, false);
  const torch::NoGradGuard no_gradients;
  Pull(worker, report);
  RoundMasters();
  rows_.Begin(worker, false);
  try {
    while (const std::optional<Example> batch = next()) {
      const Timer timer(report.compute_ns);
      Translated([&] {
        const TorchBatch inputs(*batch, order.input);
        const torch::Tensor predictions = module_.forward(inputs);
        const Tensor target = (*batch)[order.target];
        const WeightedLoss loss =
            ComputeLoss(order, predictions, target, *batch, options_->losses);
        AddToReport(loss, predictions, target, metrics, report);
      });
      const int64_t read_ns = rows_.TakeReadNs();
      report.pull_ns += read_ns;
      report.compute_ns -= read_ns;
    }
  } catch (...) {
    Abandon();
    throw;
  }
  rows_.Abandon();
}

void ModuleReplica::Predict(WorkerContext& worker, const StepConfig& order,
                            const NextBatch& next,
                            const std::function<void(Tensor)>& give) {
  Prepare(worker, false);
  const torch::NoGradGuard no_gradients;
  StepReport report;
  Pull(worker, report);
  RoundMasters();
  rows_.Begin(worker, false);
  try {
    while (const std::optional<Example> batch = next()) {
      Translated([&] {
        const TorchBatch inputs(*batch, order.input);
        give(FromTorch(module_.forward(inputs)));
      });
    }
  } catch (...) {
    Abandon();
    throw;
  }
  rows_.Abandon();
}

}  // namespace capstan

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/error.h"
#include "tensor/view.h"
#include "train/callback/terminal.h"
#include "train/evaluate/evaluation.h"
#include "train/step_config.h"

namespace capstan {
namespace {

bool SameRows(const Tensor& a, const Tensor& b) {
  const std::span<const std::int64_t> x = a.shape().dims();
  const std::span<const std::int64_t> y = b.shape().dims();
  return a.dtype() == b.dtype() && x.size() == y.size() &&
         std::equal(x.begin() + 1, x.end(), y.begin() + 1);
}

// Concatenates the outputs along the first axis.
Tensor Stack(const std::vector<Tensor>& outputs) {
  if (outputs.empty()) return Tensor();
  const Tensor& first = outputs.front();
  std::vector<std::int64_t> dims(first.shape().dims().begin(),
                                 first.shape().dims().end());
  if (dims.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "the model's output is a scalar: it needs a first axis, that "
                "of the examples");
  }
  dims[0] = 0;
  for (const Tensor& output : outputs) {
    if (output.shape().rank() == 0 || !SameRows(first, output)) {
      throw Error(ErrorCode::kInvalidArgument,
                  absl::StrCat("the model's outputs do not go together: ",
                               Describe(first.view()), " and ",
                               Describe(output.view())));
    }
    dims[0] += output.shape()[0];
  }
  Tensor all = Tensor::Uninitialized(first.dtype(), Shape(dims));
  std::byte* to = all.mutable_view().mutable_bytes().data();
  for (const Tensor& output : outputs) {
    const std::span<const std::byte> bytes = output.view().bytes();
    if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
    to += bytes.size();
  }
  return all;
}

// The outputs in the order of the batches.
std::vector<Tensor> InOrder(std::vector<std::vector<Tensor>> pieces,
                            bool by_number) {
  std::vector<Tensor> outputs;
  if (by_number) {
    for (std::vector<Tensor>& piece : pieces) {
      for (Tensor& output : piece) outputs.push_back(std::move(output));
    }
    return outputs;
  }
  // Not by number: batch i is in piece i mod n.
  for (size_t i = 0;; ++i) {
    std::vector<Tensor>& piece = pieces[i % pieces.size()];
    if (i / pieces.size() >= piece.size()) return outputs;
    outputs.push_back(std::move(piece[i / pieces.size()]));
  }
}

}  // namespace

Tensor Trainer::Predict(const DatasetHandle& data,
                        const PredictOptions& options) {
  ClusterCoordinator& coordinator = impl_->coordinator;
  const Model::Impl& model = impl_->model.impl();
  const Model::Impl::Table table =
      coordinator.CreatePerWorkerResource(data.table());
  const EvaluationPlan plan =
      PlanEvaluation(impl_->Count(table), options.steps, options.shards,
                     coordinator.Status().workers);
  StepConfig order;
  order.loss = impl_->options.loss;
  order.input = options.input;
  order.update = impl_->options.update;
  const std::string text = EncodeOrder(order);
  CallbackParams params;
  params.steps = plan.shards;
  const CallbackList callbacks(
      WithDisplay(options.callbacks, options.verbose, options.terminal), *this,
      params);
  Logs logs;
  callbacks.Call("OnPredictBegin", &Callback::OnPredictBegin, logs);
  std::vector<RemoteValue<std::vector<Tensor>>> values;
  for (std::int64_t i = 0; i < plan.shards; ++i) {
    if (plan.by_number) {
      values.push_back(coordinator.Schedule(
          model.predict_range, impl_->replicas, table, PieceOf(plan, i), text));
    } else {
      const DataShard shard{
          .shard = i, .shards = plan.shards, .limit = plan.end};
      values.push_back(coordinator.Schedule(model.predict, impl_->replicas,
                                            table, shard, text));
    }
  }
  std::vector<std::vector<Tensor>> pieces;
  try {
    for (const RemoteValue<std::vector<Tensor>>& value : values) {
      const auto i = static_cast<std::int64_t>(pieces.size());
      callbacks.Call("OnPredictBatchBegin", &Callback::OnPredictBatchBegin, i,
                     logs);
      pieces.push_back(value.Fetch());
      callbacks.Call("OnPredictBatchEnd", &Callback::OnPredictBatchEnd, i,
                     logs);
    }
  } catch (const Error& error) {
    for (const RemoteValue<std::vector<Tensor>>& value : values) {
      value.Cancel();
    }
    ThrowFailure(coordinator, error);
  }
  Tensor all = Stack(InOrder(std::move(pieces), plan.by_number));
  callbacks.Call("OnPredictEnd", &Callback::OnPredictEnd, logs);
  return all;
}

}  // namespace capstan

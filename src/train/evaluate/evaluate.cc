#include "train/callback/terminal.h"
#include "train/evaluate/evaluation.h"
#include "train/step_config.h"

namespace capstan {

std::map<std::string, double> Trainer::Evaluate(
    const DatasetHandle& data, const EvaluateOptions& options) {
  const Model::Impl::Table table =
      impl_->coordinator.CreatePerWorkerResource(data.table());
  const EvaluationPlan plan =
      PlanEvaluation(impl_->Count(table), options.steps, options.shards,
                     impl_->coordinator.Status().workers);
  StepConfig order;
  order.loss = impl_->options.loss;
  order.metrics = impl_->options.metrics;
  order.class_weights = options.class_weights;
  order.input = options.input;
  order.target = options.target;
  order.weight = options.sample_weight;
  order.update = impl_->options.update;
  CallbackParams params;
  params.steps = plan.shards;
  params.metrics = MetricNames(order);
  const CallbackList callbacks(
      WithDisplay(options.callbacks, options.verbose, options.terminal), *this,
      params);
  return RunEvaluation(*impl_, table, plan, order, callbacks);
}

}  // namespace capstan

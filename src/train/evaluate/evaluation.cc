#include "train/evaluate/evaluation.h"

#include <algorithm>
#include <deque>
#include <limits>

#include "absl/strings/str_cat.h"
#include "capstan/error.h"
#include "train/step_config.h"
#include "train/step_report.h"

namespace capstan {
namespace {

// Number of pieces if the size of the data is known. Independent of the number
// of workers, so that the sums, which are rounded, are too.
constexpr std::int64_t kPieces = 64;

[[noreturn]] void RefuseEvaluation(const std::string& why) {
  throw Error(ErrorCode::kInvalidArgument, why);
}

}  // namespace

std::int64_t PiecesOf(std::int64_t elements, std::optional<int> shards) {
  return std::clamp<std::int64_t>(elements, 1, shards.value_or(kPieces));
}

EvaluationPlan PlanEvaluation(const DataCount& count,
                              std::optional<std::int64_t> steps,
                              std::optional<int> shards, int workers) {
  if (steps && *steps < 1) {
    RefuseEvaluation(absl::StrCat("steps must be at least 1, not ", *steps));
  }
  if (shards && (*shards < 1 || *shards > 1'000'000)) {
    RefuseEvaluation(
        absl::StrCat("shards must be 1 to 1000000, not ", *shards));
  }
  EvaluationPlan plan;
  if (count.size) {
    plan.by_number = true;
    plan.end = std::min(*count.size, steps.value_or(*count.size));
    plan.shards = PiecesOf(plan.end, shards);
    return plan;
  }
  if (count.infinite && !steps) {
    RefuseEvaluation(
        "the dataset has no end (it repeats for ever): say how many batches "
        "to use with `steps`, or leave out its Repeat");
  }
  plan.end = steps.value_or(std::numeric_limits<std::int64_t>::max());
  // Each shard reads all of the data, so use no more than can run at once.
  plan.shards =
      std::min<std::int64_t>(plan.end, shards.value_or(std::max(1, workers)));
  return plan;
}

DataRange PieceOf(const EvaluationPlan& plan, std::int64_t i) {
  const std::int64_t size = plan.end - plan.begin;
  const std::int64_t each = size / plan.shards;
  const std::int64_t longer = size % plan.shards;
  DataRange range;
  range.begin = plan.begin + i * each + std::min(i, longer);
  range.end = range.begin + each + (i < longer ? 1 : 0);
  range.index = static_cast<std::uint64_t>(i);
  return range;
}

std::vector<std::unique_ptr<MetricState>> MakeMetrics(const StepConfig& order,
                                                      const Model& model) {
  std::vector<std::unique_ptr<MetricState>> metrics;
  for (const MetricSpec& metric : order.metrics) {
    metrics.push_back(
        MakeMetric(metric, order.loss, model.impl().definition->metrics));
  }
  return metrics;
}

Logs LogsOf(const StepReport& sum, const StepConfig& order,
            std::span<const std::unique_ptr<MetricState>> metrics) {
  Logs logs;
  logs["loss"] = MeanLoss(sum);
  for (size_t i = 0; i < metrics.size(); ++i) {
    logs[NameOf(order.metrics[i])] = metrics[i]->Result();
  }
  return logs;
}

void ThrowFailure(ClusterCoordinator& coordinator, const Error& error) {
  coordinator.Join();
  throw error;
}

Logs RunEvaluation(Trainer::Impl& trainer, const Model::Impl::Table& table,
                   const EvaluationPlan& plan, const StepConfig& order,
                   const CallbackList& callbacks) {
  const Model::Impl& model = trainer.model.impl();
  const std::string text = EncodeOrder(order);
  const std::vector<std::unique_ptr<MetricState>> metrics =
      MakeMetrics(order, trainer.model);
  Logs logs;
  callbacks.Call("OnTestBegin", &Callback::OnTestBegin, logs);
  std::deque<RemoteValue<StepReport>> pieces;
  for (std::int64_t i = 0; i < plan.shards; ++i) {
    if (plan.by_number) {
      pieces.push_back(trainer.coordinator.Schedule(
          model.evaluate_range, trainer.replicas, table, PieceOf(plan, i),
          plan.seed, text));
    } else {
      const DataShard shard{
          .shard = i, .shards = plan.shards, .limit = plan.end};
      pieces.push_back(trainer.coordinator.Schedule(
          model.evaluate, trainer.replicas, table, shard, text));
    }
  }
  StepReport sum;
  try {
    for (std::int64_t i = 0; !pieces.empty(); ++i) {
      callbacks.Call("OnTestBatchBegin", &Callback::OnTestBatchBegin, i, logs);
      AddReport(sum, metrics, pieces.front().Fetch());
      pieces.pop_front();
      logs = LogsOf(sum, order, metrics);
      callbacks.Call("OnTestBatchEnd", &Callback::OnTestBatchEnd, i, logs);
    }
  } catch (const Error& error) {
    for (const RemoteValue<StepReport>& piece : pieces) piece.Cancel();
    ThrowFailure(trainer.coordinator, error);
  }
  if (sum.batches == 0)
    RefuseEvaluation("there is nothing to evaluate: no batch");
  callbacks.Call("OnTestEnd", &Callback::OnTestEnd, logs);
  return logs;
}

}  // namespace capstan

// The exact evaluation of a model: the data is cut into pieces, each evaluated
// as a whole by one worker, and the results are added up in order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capstan/trainer.h"
#include "train/callback/callback_list.h"
#include "train/trainer_impl.h"

namespace capstan {

// Which data to evaluate, and how it is cut.
struct EvaluationPlan {
  // If by_number, elements [begin, end); otherwise the first `end` elements
  // read.
  bool by_number = false;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t shards = 1;
  // If by_number: the seed of shuffles that have none of their own.
  std::uint64_t seed = 0;
};

// Plans for the first `steps` elements of a dataset, or all. Throws
// kInvalidArgument for infinite data without `steps`, and for invalid numbers.
EvaluationPlan PlanEvaluation(const DataCount& count,
                              std::optional<std::int64_t> steps,
                              std::optional<int> shards, int workers);

// How many pieces `elements` are cut into.
std::int64_t PiecesOf(std::int64_t elements, std::optional<int> shards);

// Piece `i` of a plan that is by_number.
DataRange PieceOf(const EvaluationPlan& plan, std::int64_t i);

// Runs the evaluation and calls the callbacks' test hooks. Nothing else may be
// scheduled. Throws what a step throws.
Logs RunEvaluation(Trainer::Impl& trainer, const Model::Impl::Table& table,
                   const EvaluationPlan& plan, const StepConfig& order,
                   const CallbackList& callbacks);

// "loss" and the metrics of a sum of reports.
Logs LogsOf(const StepReport& sum, const StepConfig& order,
            std::span<const std::unique_ptr<MetricState>> metrics);
std::vector<std::unique_ptr<MetricState>> MakeMetrics(const StepConfig& order,
                                                      const Model& model);

// Waits for the scheduled closures and throws the error of one that failed;
// otherwise throws `error`.
[[noreturn]] void ThrowFailure(ClusterCoordinator& coordinator,
                               const Error& error);

}  // namespace capstan

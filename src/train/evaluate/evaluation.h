// The exact evaluation of a model: pieces of the data, each evaluated as a
// whole by some worker, and added up in their order.
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

// Which data, and how it is cut.
struct EvaluationPlan {
  // Elements [begin, end) by number; or else the first `end` as they are read.
  bool by_number = false;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t shards = 1;
  // By number: that of shuffles which have none of their own.
  std::uint64_t seed = 0;
};

// For the first `steps` elements of a dataset, or all. Throws kInvalidArgument
// for data without an end and no `steps`, and numbers that make no sense.
EvaluationPlan PlanEvaluation(const DataCount& count,
                              std::optional<std::int64_t> steps,
                              std::optional<int> shards, int workers);

// How many pieces `elements` are cut into.
std::int64_t PiecesOf(std::int64_t elements, std::optional<int> shards);

// Piece `i` of those of a plan by number.
DataRange PieceOf(const EvaluationPlan& plan, std::int64_t i);

// Runs it, with the hooks of testing. Nothing else may be scheduled. Throws
// what a step throws.
Logs RunEvaluation(Trainer::Impl& trainer, const Model::Impl::Table& table,
                   const EvaluationPlan& plan, const StepConfig& order,
                   const CallbackList& callbacks);

// Of reports that were added up: "loss" and the metrics.
Logs LogsOf(const StepReport& sum, const StepConfig& order,
            std::span<const std::unique_ptr<MetricState>> metrics);
std::vector<std::unique_ptr<MetricState>> MakeMetrics(const StepConfig& order,
                                                      const Model& model);

// Waits for the functions that are scheduled, and throws the error if one has
// failed; else `error`.
[[noreturn]] void ThrowFailure(ClusterCoordinator& coordinator,
                               const Error& error);

}  // namespace capstan

// Adds up the reports of steps.
#pragma once

#include <memory>
#include <span>

#include "capstan/trainer.h"

namespace capstan {

// Adds the numbers of `more` to `sum`, and its metric states to `metrics`, of
// which there must be equally many. Throws kInvalidArgument if they do not
// match.
void AddReport(StepReport& sum,
               std::span<const std::unique_ptr<MetricState>> metrics,
               const StepReport& more);

// Copies the states of `metrics` into `report`.
void TakeStates(std::span<const std::unique_ptr<MetricState>> metrics,
                StepReport& report);

// The weighted mean of the losses; 0 if the total weight is 0.
double MeanLoss(const StepReport& report);

}  // namespace capstan

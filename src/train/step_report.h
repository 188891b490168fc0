// Adding up what steps report.
#pragma once

#include <memory>
#include <span>

#include "capstan/trainer.h"

namespace capstan {

// Adds the numbers of `more`, and its metrics to `metrics`, which are as many.
// Throws kInvalidArgument if they do not fit.
void AddReport(StepReport& sum,
               std::span<const std::unique_ptr<MetricState>> metrics,
               const StepReport& more);

// The states of `metrics` into `report`.
void TakeStates(std::span<const std::unique_ptr<MetricState>> metrics,
                StepReport& report);

// sum / weight of the losses; 0 without any weight.
double MeanLoss(const StepReport& report);

}  // namespace capstan

// One call of Fit.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capstan/trainer.h"
#include "train/callback_list.h"
#include "train/evaluation.h"
#include "train/fit_steps.h"
#include "train/trainer_impl.h"

namespace capstan {

// Not thread-safe.
class FitRun {
 public:
  // Throws kInvalidArgument for options that make no sense with the data.
  FitRun(Trainer& trainer, Trainer::Impl& impl, const DatasetHandle& data,
         const FitOptions& options);

  History Run();

 private:
  // What was scheduled and not yet reported.
  struct Pending {
    RemoteValue<StepReport> value;
    std::int64_t last = 0;  // its last batch
  };

  // Trains one epoch, and returns what was measured; nothing if there was not a
  // single batch.
  std::optional<Logs> TrainEpoch(int epoch);
  // Schedules as much as may be unfinished.
  void Fill(int epoch);
  // Waits for the oldest step, counts it and tells the callbacks.
  void Take();
  // When something has failed: waits for the steps that are unfinished and
  // counts those that have trained. Throws the error of one that has failed.
  void Abandon();
  void Drain() noexcept;
  void Validate(int epoch, Logs& logs);
  void WarnOfEnd() const;

  Trainer::Impl& impl_;
  const FitOptions& options_;
  const ModelOrder order_;
  const Model::Impl::Table table_;
  FitSteps steps_;
  // Of validation, if there is any.
  std::optional<Model::Impl::Table> validation_table_;
  EvaluationPlan validation_;
  ModelOrder validation_order_;
  CallbackList callbacks_;
  const std::vector<std::unique_ptr<MetricState>> metrics_;

  std::size_t window_ = 1;       // how many may be unfinished
  std::uint64_t scheduled_ = 0;  // steps
  std::deque<Pending> pending_;
  std::int64_t next_ = 0;  // batch to schedule
  bool ended_ = false;     // an iterator has
  Logs batch_logs_;
};

}  // namespace capstan

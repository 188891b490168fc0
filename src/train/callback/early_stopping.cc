#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/trainer.h"
#include "train/callback/callback_state.h"
#include "train/callback/monitor.h"
#include "train/callback/warn.h"

namespace capstan {

EarlyStopping::EarlyStopping(EarlyStoppingOptions options)
    : options_(std::move(options)) {}
EarlyStopping::~EarlyStopping() = default;

bool EarlyStopping::Improves(double value, std::optional<double> than) const {
  return IsBetter(ResolveMode(options_.mode, options_.monitor), value, than,
                  options_.min_delta);
}

void EarlyStopping::OnTrainBegin(Logs& /*logs*/) {
  waited_ = 0;
  best_.reset();
  best_epoch_.reset();
  stopped_epoch_.reset();
  best_values_.clear();
  found_ = false;
}

void EarlyStopping::OnEpochEnd(int epoch, Logs& logs) {
  if (epoch < options_.start_from_epoch) return;
  const std::optional<double> value =
      FindMonitored(*this, logs, options_.monitor, found_);
  if (!value) return;
  ++waited_;
  if (Improves(*value, best_)) {
    best_ = value;
    best_epoch_ = epoch;
    if (options_.restore_best_weights) {
      best_values_ = trainer().Values();
      // The count of iterations is not one of the weights.
      best_values_.erase(trainer().model().name() + "/iterations");
    }
    // Without a baseline, any value is better.
    if (Improves(*value, options_.baseline)) waited_ = 0;
    if (waited_ == 0) return;
  }
  if (waited_ >= options_.patience && epoch > 0) {
    stopped_epoch_ = epoch;
    trainer().StopTraining();
  }
}

void EarlyStopping::OnTrainEnd(Logs& /*logs*/) {
  if (!best_values_.empty()) {
    trainer().SetValues(best_values_);
  } else if (options_.restore_best_weights && best_epoch_) {
    Warn(*this, absl::StrCat("the weights of epoch ", *best_epoch_ + 1,
                             ", the best, were lost when the training was cut "
                             "off: the last ones stay"));
  }
  best_values_.clear();
}

std::string EarlyStopping::State() const {
  return EncodeState({waited_, best_, best_epoch_});
}

void EarlyStopping::SetState(const std::string& state) {
  const auto numbers = DecodeState(state, 3);
  waited_ = static_cast<int>(numbers[0].value_or(0));
  best_ = numbers[1];
  std::optional<int> best_epoch;
  if (numbers[2]) best_epoch = static_cast<int>(*numbers[2]);
  // The values are of an epoch that is repeated, or belong to another process.
  if (best_epoch != best_epoch_) best_values_.clear();
  best_epoch_ = best_epoch;
}

}  // namespace capstan

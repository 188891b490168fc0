#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/error.h"
#include "capstan/trainer.h"
#include "train/monitor.h"

namespace capstan {

ReduceLROnPlateau::ReduceLROnPlateau(ReduceLROnPlateauOptions options)
    : options_(std::move(options)) {
  if (options_.factor > 0 && options_.factor < 1) return;
  throw Error(ErrorCode::kInvalidArgument,
              absl::StrCat("ReduceLROnPlateau: the factor must be above 0 and "
                           "below 1, not ",
                           options_.factor));
}
ReduceLROnPlateau::~ReduceLROnPlateau() = default;

void ReduceLROnPlateau::OnTrainBegin(Logs& /*logs*/) {
  best_.reset();
  waited_ = 0;
  cooling_ = 0;
}

void ReduceLROnPlateau::OnEpochEnd(int /*epoch*/, Logs& logs) {
  const double rate = trainer().learning_rate();
  logs["learning_rate"] = rate;
  if (best_ && !logs.contains(options_.monitor)) return;
  const double value = MonitoredValue(logs, options_.monitor);
  if (cooling_ > 0) {
    --cooling_;
    waited_ = 0;
  }
  const MonitorMode mode = ResolveMode(options_.mode, options_.monitor);
  if (!best_ || IsBetter(mode, value, *best_, options_.min_delta)) {
    best_ = value;
    waited_ = 0;
    return;
  }
  if (cooling_ > 0 || ++waited_ < options_.patience) return;
  if (rate <= options_.min_lr) return;
  trainer().SetLearningRate(std::max(rate * options_.factor, options_.min_lr));
  cooling_ = options_.cooldown;
  waited_ = 0;
}

}  // namespace capstan

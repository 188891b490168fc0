#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/error.h"
#include "capstan/trainer.h"
#include "train/callback/callback_state.h"
#include "train/callback/monitor.h"

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
  found_ = false;
}

void ReduceLROnPlateau::OnEpochEnd(int /*epoch*/, Logs& logs) {
  const double rate = trainer().learning_rate();
  logs["learning_rate"] = rate;
  const std::optional<double> value =
      FindMonitored(*this, logs, options_.monitor, found_);
  if (!value) return;
  if (cooling_ > 0) {
    --cooling_;
    waited_ = 0;
  }
  const MonitorMode mode = ResolveMode(options_.mode, options_.monitor);
  if (IsBetter(mode, *value, best_, options_.min_delta)) {
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

std::string ReduceLROnPlateau::State() const {
  return EncodeState({waited_, best_, cooling_});
}

void ReduceLROnPlateau::SetState(const std::string& state) {
  const auto numbers = DecodeState(state, 3);
  waited_ = static_cast<int>(numbers[0].value_or(0));
  best_ = numbers[1];
  cooling_ = static_cast<int>(numbers[2].value_or(0));
}

}  // namespace capstan

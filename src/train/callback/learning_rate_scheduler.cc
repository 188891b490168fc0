#include <utility>

#include "capstan/error.h"
#include "capstan/trainer.h"
#include "train/callback/callback_state.h"

namespace capstan {

LearningRateScheduler::LearningRateScheduler(
    std::function<double(int, double)> schedule)
    : schedule_(std::move(schedule)) {
  if (schedule_) return;
  throw Error(ErrorCode::kInvalidArgument,
              "LearningRateScheduler: the schedule is an empty function");
}
LearningRateScheduler::~LearningRateScheduler() = default;

void LearningRateScheduler::OnTrainBegin(Logs& /*logs*/) { epoch_.reset(); }

void LearningRateScheduler::OnEpochBegin(int epoch, Logs& /*logs*/) {
  const double now = trainer().learning_rate();
  if (epoch_ != epoch) {
    epoch_ = epoch;
    rate_before_ = now;
  }
  const double rate = schedule_(epoch, rate_before_);
  if (rate != now) trainer().SetLearningRate(rate);
}

void LearningRateScheduler::OnEpochEnd(int /*epoch*/, Logs& logs) {
  logs["learning_rate"] = trainer().learning_rate();
}

std::string LearningRateScheduler::State() const {
  return EncodeState({epoch_, rate_before_});
}

void LearningRateScheduler::SetState(const std::string& state) {
  const auto numbers = DecodeState(state, 2);
  epoch_.reset();
  if (numbers[0]) epoch_ = static_cast<int>(*numbers[0]);
  rate_before_ = numbers[1].value_or(0);
}

}  // namespace capstan

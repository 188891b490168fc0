#include <utility>

#include "capstan/error.h"
#include "capstan/trainer.h"

namespace capstan {

LearningRateScheduler::LearningRateScheduler(
    std::function<double(int, double)> schedule)
    : schedule_(std::move(schedule)) {
  if (schedule_) return;
  throw Error(ErrorCode::kInvalidArgument,
              "LearningRateScheduler: the schedule is an empty function");
}
LearningRateScheduler::~LearningRateScheduler() = default;

void LearningRateScheduler::OnEpochBegin(int epoch, Logs& /*logs*/) {
  const double before = trainer().learning_rate();
  const double rate = schedule_(epoch, before);
  if (rate != before) trainer().SetLearningRate(rate);
}

void LearningRateScheduler::OnEpochEnd(int /*epoch*/, Logs& logs) {
  logs["learning_rate"] = trainer().learning_rate();
}

}  // namespace capstan

#include <cmath>

#include "capstan/trainer.h"

namespace capstan {

TerminateOnNaN::TerminateOnNaN() = default;
TerminateOnNaN::~TerminateOnNaN() = default;

void TerminateOnNaN::OnTrainBatchEnd(int64_t /*batch*/, Logs& logs) {
  const auto loss = logs.find("loss");
  if (loss == logs.end() || std::isfinite(loss->second)) return;
  trainer().StopTraining();
}

}  // namespace capstan

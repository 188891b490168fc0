// Learning-rate schedules, with the arithmetic of Keras.
// Thread-safe: a pure function.
#pragma once

#include <cstdint>

#include "capstan/optimizer.h"

namespace capstan {

// The rate of the update that follows `t` others. The schedule must be valid
// (see validate.h).
double LearningRateAt(const LearningRate& learning_rate, uint64_t t);

}  // namespace capstan

// How far training had got when a checkpoint was saved.
// Thread-safe: a pure function.
#pragma once

#include <cstdint>
#include <optional>

#include "checkpoint/manifest.h"

namespace capstan {

struct TrainingPlace {
  uint64_t iterations = 0;  // batches trained
  // For Fit: complete epochs, and batches of the next one.
  struct Epochs {
    uint64_t complete = 0;
    uint64_t batches = 0;
  };
  std::optional<Epochs> epochs = {};
};

// Determined from the records of the checkpoint's trainers
// (docs/checkpoint_format.md): with several, the sum of their iterations, and
// the epochs of the one with the most. Without any, the number of iterations is
// the update count of the most often updated variable. Unlike Manifest::step,
// which numbers what a coordinator schedules, both continue when training is
// resumed.
TrainingPlace FindTraining(const Manifest& manifest);

}  // namespace capstan

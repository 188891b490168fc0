// How far the training is that a checkpoint was saved in.
// Thread-safe: a pure function.
#pragma once

#include <cstdint>
#include <optional>

#include "checkpoint/manifest.h"

namespace capstan {

struct TrainingPlace {
  uint64_t iterations = 0;  // batches trained
  // Of Fit: epochs that are complete, and batches of the next.
  struct Epochs {
    uint64_t complete = 0;
    uint64_t batches = 0;
  };
  std::optional<Epochs> epochs = {};
};

// By the records of its trainers (docs/checkpoint_format.md): of several, the
// iterations of all together, and the epochs of the one that has the most.
// Without any, there are as many iterations as the variable that was updated
// most often has had updates. Unlike Manifest::step, which numbers what a
// coordinator schedules, both go on where a training is resumed.
TrainingPlace FindTraining(const Manifest& manifest);

}  // namespace capstan

// The parameters of the exact_digits workload.
#pragma once

#include <chrono>
#include <cstddef>

#include "absl/status/statusor.h"
#include "base/async/clock.h"
#include "simulate/scenario.h"

namespace capstan::simulate {

enum class DigitMode {
  kAsync,
  kSync,
  kBounded,
  kMixed,  // synchronous rounds for whole variables, rows immediate
};

struct DigitOptions {
  DigitMode mode = DigitMode::kAsync;
  int servers = 2;
  int workers = 3;
  int lanes = 2;     // steps that a worker runs at once
  int replicas = 3;  // of sync and bounded
  int backup = 0;    // of sync
  int bound = 1;     // of bounded
  int pushes = 1;    // updates per step
  int updates = 96;  // per run, at most, over all generations
  // This many elements of each shard of `dense`, and rows of `rows`, hold
  // nothing: large updates travel in pieces, and one of 4 MiB or more is
  // applied while it arrives.
  int padding = 0;
  int row_padding = 0;
  // The least time between two new steps, or rounds.
  Duration every = Duration::zero();
  // The longest time that a worker computes; and the chance that it takes up to
  // `straggle` instead.
  Duration pause = std::chrono::milliseconds(200);
  double stragglers = 0.03;
  Duration straggle = std::chrono::milliseconds(1200);
  // How long calls may take, and how long a step may before it is also given to
  // another worker.
  Duration timeout = std::chrono::milliseconds(800);
  Duration lease = std::chrono::milliseconds(600);
  // The chance that a running step is immediately handed out again, and that a
  // worker sends its updates twice at the same time.
  double again = 0.1;
  double twice = 0.1;
  // The mean times between two rollbacks, and between two new coordinators; 0
  // for none.
  Duration generation_life = std::chrono::milliseconds(1200);
  Duration term_life = std::chrono::milliseconds(800);

  bool sync() const {
    return mode == DigitMode::kSync || mode == DigitMode::kMixed;
  }
  bool bounded() const { return mode == DigitMode::kBounded; }
  // The number of steps in a round; 1 if there are no rounds.
  size_t per_round() const {
    if (sync()) return static_cast<size_t>(replicas + backup);
    return bounded() ? static_cast<size_t>(replicas) : 1;
  }
};

// InvalidArgument, naming the file and the key.
absl::StatusOr<DigitOptions> ReadDigitOptions(const Scenario& scenario);

}  // namespace capstan::simulate

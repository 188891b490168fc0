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
  kMixed,  // whole variables in synchronous rounds, rows at once
};

struct DigitOptions {
  DigitMode mode = DigitMode::kAsync;
  int servers = 2;
  int workers = 3;
  int lanes = 2;     // steps that a worker does at once
  int replicas = 3;  // of sync and bounded
  int backup = 0;    // of sync
  int bound = 1;     // of bounded
  int pushes = 1;    // updates of a step
  int updates = 96;  // in a run, at most, over all generations
  // So many elements of each shard of `dense`, and rows of `rows`, hold
  // nothing: large ones travel in pieces, and an update of 4 MiB or more is
  // applied while it arrives.
  int padding = 0;
  int row_padding = 0;
  // The least time from one new step, or round, to the next.
  Duration every = Duration::zero();
  // How long a worker computes, at most; and the chance that it takes up to
  // `straggle` instead.
  Duration pause = std::chrono::milliseconds(200);
  double stragglers = 0.03;
  Duration straggle = std::chrono::milliseconds(1200);
  // How long calls may take, and how long a step may before it is given to
  // another worker too.
  Duration timeout = std::chrono::milliseconds(800);
  Duration lease = std::chrono::milliseconds(600);
  // The chance that a step which is under way is given out again at once, and
  // that a worker sends its updates twice at the same time.
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
  // How many steps there are in a round; 1 if there are none.
  size_t per_round() const {
    if (sync()) return static_cast<size_t>(replicas + backup);
    return bounded() ? static_cast<size_t>(replicas) : 1;
  }
};

// InvalidArgument, naming the file and the key.
absl::StatusOr<DigitOptions> ReadDigitOptions(const Scenario& scenario);

}  // namespace capstan::simulate

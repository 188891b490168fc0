// Two things timed side by side, in turns, so that a busy machine disturbs
// both alike.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status.h"
#include "harness/statistics.h"

namespace capstan {

// Seconds that something took, or why it failed.
using Timed = std::function<absl::StatusOr<double>()>;

struct SideBySide {
  double ours = 0;  // the medians of the seconds
  double bare = 0;
  double ratio = 0;  // the median of bare / ours: how much of the limit it is
};

// Runs both `rounds` times, and once before that is not counted.
absl::StatusOr<SideBySide> TimeSideBySide(int rounds, const Timed& ours,
                                          const Timed& bare);

// The seconds of a function without errors.
template <typename Function>
double SecondsOf(Function function) {
  const auto start = std::chrono::steady_clock::now();
  function();
  const std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  return elapsed.count();
}

}  // namespace capstan

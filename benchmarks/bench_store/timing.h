// Times two things side by side, in turns, so that a busy machine disturbs both
// equally.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status.h"
#include "harness/statistics.h"

namespace capstan {

// Returns the seconds that something took, or why it failed.
using Timed = std::function<absl::StatusOr<double>()>;

struct SideBySide {
  double ours = 0;  // the medians of the seconds
  double bare = 0;
  double ratio = 0;  // the median of bare / ours: the share of the limit
};

// Runs both `rounds` times, after one warm-up run that does not count.
absl::StatusOr<SideBySide> TimeSideBySide(int rounds, const Timed& ours,
                                          const Timed& bare);

// The seconds that a function without errors takes.
template <typename Function>
double SecondsOf(Function function) {
  const auto start = std::chrono::steady_clock::now();
  function();
  const std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  return elapsed.count();
}

}  // namespace capstan

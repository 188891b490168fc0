// How long a task that failed waits before it is started again.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/clock.h"

namespace capstan {

// Before the n-th restart, from 1: nothing before the first, as most failures
// are accidents; then 0.5 s, and each time twice as long, up to 10 s, as a task
// that fails again and again would only keep the machine busy. The same for the
// same n. Pure; thread-safe.
constexpr Duration RestartDelay(int restart) {
  constexpr Duration kMost = std::chrono::seconds(10);
  if (restart <= 1) return Duration::zero();
  Duration delay = std::chrono::milliseconds(500);
  for (int i = 2; i < restart && delay < kMost; ++i) delay *= 2;
  return std::min(delay, kMost);
}

}  // namespace capstan

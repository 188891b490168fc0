// How long to wait before trying again: exponentially longer each time, up to
// a limit, with jitter so that many clients do not return at the same moment.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/random.h"

namespace capstan {

// Values outside the stated ranges are clamped.
struct BackoffOptions {
  // The first wait, before jitter; at least 1 ns.
  std::chrono::nanoseconds initial = std::chrono::milliseconds(50);
  // The longest wait; at least `initial`.
  std::chrono::nanoseconds max = std::chrono::seconds(5);
  // How much longer each wait is than the one before; at least 1.
  double multiplier = 2.0;
  // The fraction of each wait that is random, in [0, 1].
  double jitter = 0.5;
};

// Pure arithmetic: does not wait itself. Not thread-safe; a value.
class Backoff {
 public:
  Backoff(const BackoffOptions& options, Random random)
      : options_(Clamp(options)), random_(random), base_(options_.initial) {}

  // The wait before the next attempt: with b = min(initial * multiplier^k, max)
  // on the k-th call since the last Reset, a random time from b * (1 - jitter)
  // to b, both included. The same options and Random give the same waits.
  std::chrono::nanoseconds Next() {
    const std::chrono::nanoseconds base = base_;
    const double grown =
        static_cast<double>(base.count()) * options_.multiplier;
    // Compared as double: the product may exceed the range of nanoseconds.
    base_ = grown < static_cast<double>(options_.max.count())
                ? std::chrono::nanoseconds(static_cast<int64_t>(grown))
                : options_.max;
    const auto spread = static_cast<int64_t>(static_cast<double>(base.count()) *
                                             options_.jitter);
    return base - std::chrono::nanoseconds(
                      random_.Between(0, std::min(spread, base.count())));
  }

  // Starts over from the initial wait, as after a success. The random sequence
  // continues.
  void Reset() { base_ = options_.initial; }

 private:
  static BackoffOptions Clamp(BackoffOptions options) {
    options.initial = std::max(options.initial, std::chrono::nanoseconds(1));
    options.max = std::max(options.max, options.initial);
    // Written so that NaN also becomes the lower limit.
    if (!(options.multiplier >= 1.0)) options.multiplier = 1.0;
    if (!(options.jitter >= 0.0)) options.jitter = 0.0;
    options.jitter = std::min(options.jitter, 1.0);
    return options;
  }

  BackoffOptions options_;
  Random random_;
  std::chrono::nanoseconds base_;
};

}  // namespace capstan

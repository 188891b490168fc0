// The machine's clocks.
#pragma once

#include <memory>

#include "base/async/clock.h"

namespace capstan {

class RealClock final : public Clock {
 public:
  MonotonicTime Now() const override;
  WallTime WallNow() const override;
  std::unique_ptr<Timer> NewTimer(const Executor& executor) override;
};

}  // namespace capstan

#include "base/async/yield_cores.h"

#include <sys/resource.h>

namespace capstan {

void YieldCores() {
  constexpr int kNiceness = 19;
  // On Linux a thread has a niceness of its own, and 0 is the caller.
  if (getpriority(PRIO_PROCESS, 0) >= kNiceness) return;
  (void)setpriority(PRIO_PROCESS, 0, kNiceness);
}

}  // namespace capstan

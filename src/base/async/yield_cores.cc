#include "base/async/yield_cores.h"

#include <sys/resource.h>

namespace capstan {

void YieldCores() {
  constexpr int kNiceness = 19;
  // On Linux each thread has its own niceness, and 0 means the caller.
  if (getpriority(PRIO_PROCESS, 0) >= kNiceness) return;
  (void)setpriority(PRIO_PROCESS, 0, kNiceness);
}

}  // namespace capstan

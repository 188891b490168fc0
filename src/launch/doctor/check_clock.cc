#include "launch/doctor/check_clock.h"

namespace capstan {

Findings CheckClock(const MachineFacts& facts) {
  if (!facts.clock_is_synchronised) return {};
  if (*facts.clock_is_synchronised) {
    return {{FindingLevel::kOk, "clock: synchronised", ""}};
  }
  return {{FindingLevel::kWarning,
           "clock: the kernel knows of nobody who sets it, so times in logs, "
           "and of certificates, may be off",
           "run an NTP client such as systemd-timesyncd or chrony (in a "
           "container: on its host)"}};
}

}  // namespace capstan

// Whether this machine's clock is right, as far as it can know.
#pragma once

#include "launch/doctor/finding.h"
#include "launch/system/machine_facts.h"

namespace capstan {

// Never a problem: no result depends on the wall clock, but logs of several
// machines are compared by it, and certificates are valid by it. Pure.
Findings CheckClock(const MachineFacts& facts);

}  // namespace capstan

// Whether this machine's clock is right, as far as the machine can tell.
#pragma once

#include "launch/doctor/finding.h"
#include "launch/system/machine_facts.h"

namespace capstan {

// Never a problem: no result depends on the wall clock, but it dates the logs
// of different machines and decides whether certificates are valid. Pure.
Findings CheckClock(const MachineFacts& facts);

}  // namespace capstan

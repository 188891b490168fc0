// The CPU, memory pages and network of this machine.
#pragma once

#include "launch/doctor/finding.h"
#include "launch/doctor/probe_loopback.h"
#include "launch/system/machine_facts.h"

namespace capstan {

// The versions of Capstan and the kernel, the cores and their vector
// instructions, and huge pages. Omits what the system does not report. Pure.
Findings CheckMachine(const MachineFacts& facts);

// Whether tasks on this machine can talk to one another, and whether other
// machines could find it by its name. Pure.
Findings CheckLoopback(const LoopbackFacts& facts);

}  // namespace capstan

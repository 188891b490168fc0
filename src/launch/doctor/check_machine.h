// What the CPU, the memory's pages and the network of this machine are like.
#pragma once

#include "launch/doctor/finding.h"
#include "launch/doctor/probe_loopback.h"
#include "launch/system/machine_facts.h"

namespace capstan {

// The versions of Capstan and of the kernel, the cores and their vector
// instructions, and huge pages. What the system does not say is left out. Pure.
Findings CheckMachine(const MachineFacts& facts);

// Whether tasks on this machine can talk to one another, and whether others
// could find it by its name. Pure.
Findings CheckLoopback(const LoopbackFacts& facts);

}  // namespace capstan

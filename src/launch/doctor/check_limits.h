// Whether this machine lets a task have what it needs.
#pragma once

#include "launch/doctor/finding.h"
#include "launch/system/machine_facts.h"

namespace capstan {

// Open files, threads, memory, the queue of new connections, and the disk under
// the current folder, for a job of so many tasks, or 0 if that is not known.
// What the system does not say is left out. Pure.
Findings CheckLimits(const MachineFacts& facts, int tasks);

}  // namespace capstan

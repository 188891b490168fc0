// Whether this machine gives a task the resources it needs.
#pragma once

#include "launch/doctor/finding.h"
#include "launch/system/machine_facts.h"

namespace capstan {

// Open files, threads, memory, the accept queue, and the disk under the current
// folder, for a job of `tasks` tasks (0 if unknown). Omits what the system does
// not report. Pure.
Findings CheckLimits(const MachineFacts& facts, int tasks);

}  // namespace capstan

// What it means how the tasks of a cluster answered.
#pragma once

#include <vector>

#include "base/async/clock.h"
#include "launch/doctor/finding.h"
#include "launch/doctor/probe_tasks.h"

namespace capstan {

// One finding for each task. A task that is not there is a problem if another
// one is, as the job then runs without it; else the job has not been started,
// which is a warning. One that is there and cannot be talked to is always a
// problem, and so is a connection on which nothing came back for `timeout`.
// Pure.
Findings CheckTasks(const std::vector<TaskProbe>& probes, Duration timeout);

}  // namespace capstan

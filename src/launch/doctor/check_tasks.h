// What the answers of a cluster's tasks mean.
#pragma once

#include <vector>

#include "base/async/clock.h"
#include "launch/doctor/finding.h"
#include "launch/doctor/probe_tasks.h"

namespace capstan {

// One finding per task. A missing task is a problem if another task answers,
// because the job then runs without it; otherwise the job has not been started,
// which is a warning. A task that is there but cannot be talked to is always a
// problem, and so is a connection on which nothing came back for `timeout`.
// Pure.
Findings CheckTasks(const std::vector<TaskProbe>& probes, Duration timeout);

}  // namespace capstan

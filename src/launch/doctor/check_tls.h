// Whether a directory of certificates can be used, and for how long.
#pragma once

#include <string>
#include <vector>

#include "base/async/clock.h"
#include "capstan/cluster_spec.h"
#include "launch/doctor/finding.h"

namespace capstan {

// Checks every pair NAME.pem and NAME.key of `directory` as a task would: both
// exist, belong together and to ca.pem, stay valid for another 30 days, and
// others can neither read the key nor replace anything. Valid pairs are only
// counted. `tasks` are those that will look for certificates there.
Findings CheckTls(const std::string& directory,
                  const std::vector<TaskId>& tasks, Clock& clock);

}  // namespace capstan

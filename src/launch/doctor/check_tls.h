// Whether a directory of certificates can be used, and for how long.
#pragma once

#include <string>
#include <vector>

#include "base/async/clock.h"
#include "capstan/cluster_spec.h"
#include "launch/doctor/finding.h"

namespace capstan {

// Looks at every pair NAME.pem and NAME.key of `directory` as a task would:
// that both are there, belong together and to ca.pem, are valid, for 30 days
// more, and that others cannot read the key nor replace anything. Of those that
// are well only their number is said. `tasks` are those that will look for
// certificates there.
Findings CheckTls(const std::string& directory,
                  const std::vector<TaskId>& tasks, Clock& clock);

}  // namespace capstan

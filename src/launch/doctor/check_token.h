// Whether the file of a job token can be used.
#pragma once

#include <string>

#include "launch/doctor/finding.h"

namespace capstan {

// Reads `file` as a task would that has TLS or not; finds nothing if it is
// empty. No finding shows the token.
Findings CheckTokenFile(const std::string& file, bool tls);

}  // namespace capstan

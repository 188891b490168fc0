// Whether a job token's file can be used.
#pragma once

#include <string>

#include "launch/doctor/finding.h"

namespace capstan {

// Reads `file` as a task with or without TLS would; no findings if `file` is
// empty. No finding shows the token.
Findings CheckTokenFile(const std::string& file, bool tls);

}  // namespace capstan

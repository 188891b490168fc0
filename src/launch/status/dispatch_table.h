// The coordinator's work, for people. Pure functions; thread-safe.
#pragma once

#include <string>

#include "wire/closure.h"

namespace capstan {

// Lines about the queue, and a table of the workers; "" if the program has no
// coordinator of functions. Safe to print, whoever sent the report.
std::string DispatchTable(const DispatchReport& report);

}  // namespace capstan

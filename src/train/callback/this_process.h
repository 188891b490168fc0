// How event files name who writes them.
#pragma once

#include "telemetry/event_file.h"

namespace capstan {

// This machine and this process. Thread-safe.
EventFileWriter ThisProcess();

}  // namespace capstan

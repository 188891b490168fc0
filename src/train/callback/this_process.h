// How event files identify their writer.
#pragma once

#include "telemetry/event_file.h"

namespace capstan {

// Identifies this machine and process. Thread-safe.
EventFileWriter ThisProcess();

}  // namespace capstan

// How event files name who writes them.
#pragma once

#include "metrics/event_file.h"

namespace capstan {

// This machine and this process. Thread-safe.
EventFileWriter ThisProcess();

}  // namespace capstan

// The log of simulated nodes: written to the trace's text, in virtual time.
#pragma once

#include <string_view>

#include "base/log.h"
#include "simulation/sim_clock.h"
#include "simulation/sim_trace.h"

namespace capstan {

// A logger for the node `name`, which drops everything if the trace has no
// text. `trace` and `clock` must outlive it.
Logger NewSimLogger(SimTrace& trace, const SimClock& clock,
                    std::string_view name);

}  // namespace capstan

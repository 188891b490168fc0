// What a callback watches, and whether it got better.
#pragma once

#include <limits>
#include <optional>
#include <string>

#include "capstan/callback.h"

namespace capstan {

// kMin or kMax, whichever `mode` stands for with this name.
MonitorMode ResolveMode(MonitorMode mode, const std::string& monitor);

// Whether `value` is better than `than` by more than `min_delta`. What is no
// number is not.
bool IsBetter(MonitorMode resolved, double value, double than,
              double min_delta);

// The value that `monitor` has in these logs. Throws kNotFound, naming those
// that there are.
double MonitoredValue(const Logs& logs, const std::string& monitor);

}  // namespace capstan

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
// number is not; and any number is better than nothing, or what is none.
bool IsBetter(MonitorMode resolved, double value, std::optional<double> than,
              double min_delta);

// The value that `monitor` has in these logs. Throws kNotFound, naming those
// that there are.
double MonitoredValue(const Logs& logs, const std::string& monitor);

// The same of a callback's. Nullopt if it is not there, which may be so in some
// epochs only, as with validation_freq: it is said unless `found` is set, which
// it is from then on.
std::optional<double> FindMonitored(const Callback& callback, const Logs& logs,
                                    const std::string& monitor, bool& found);

}  // namespace capstan

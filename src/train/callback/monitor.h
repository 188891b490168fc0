// The value that a callback monitors, and whether it improved.
#pragma once

#include <limits>
#include <optional>
#include <string>

#include "capstan/callback.h"

namespace capstan {

// kMin or kMax: what `mode` means for `monitor`.
MonitorMode ResolveMode(MonitorMode mode, const std::string& monitor);

// Whether `value` is better than `than` by more than `min_delta`. NaN is never
// better; any other value is better than nullopt or NaN.
bool IsBetter(MonitorMode resolved, double value, std::optional<double> than,
              double min_delta);

// The value of `monitor` in `logs`. Throws kNotFound, listing the names in the
// logs.
double MonitoredValue(const Logs& logs, const std::string& monitor);

// Like MonitoredValue, for a callback, but returns nullopt if the value is
// missing. That may happen in some epochs only, as with validation_freq, so
// warns only if `found` is false. Sets `found`.
std::optional<double> FindMonitored(const Callback& callback, const Logs& logs,
                                    const std::string& monitor, bool& found);

}  // namespace capstan

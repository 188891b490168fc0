// Which names variables may have, and how messages show them.
// Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace capstan {

inline constexpr size_t kMaxNameBytes = 512;

// OK for 1 to kMaxNameBytes bytes of UTF-8 without control characters, so that
// a name can be a line of a log, a key of a file and a label of a chart.
// Otherwise InvalidArgument that shows the name.
absl::Status CheckName(std::string_view name);

// For messages: variable "embedding". Bytes that should not reach a terminal
// are escaped; a name that is too long is truncated.
std::string CalledName(std::string_view name);

}  // namespace capstan

// Limits on the numbers that fence a job. A sender that exceeds them is faulty,
// or wants to shut out everyone who comes later.
#pragma once

#include <cstdint>

namespace capstan {

// Terms are below this.
inline constexpr uint64_t kTermLimit = uint64_t{1} << 31;

// Steps that may be open, from the first that has not ended to the last that
// has an update. A coordinator that takes over needs memory for each, and too
// many would prevent the takeover.
inline constexpr uint64_t kMostOpenSteps = uint64_t{1} << 28;

}  // namespace capstan

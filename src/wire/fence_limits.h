// How far the numbers that fence a job can go. Whoever sends more is wrong, or
// wants to shut out all who come after it.
#pragma once

#include <cstdint>

namespace capstan {

// Terms are below this.
inline constexpr uint64_t kTermLimit = uint64_t{1} << 31;

// Steps that may be open, from the first that is not over to the last that has
// an update. A coordinator that takes over needs memory for each, so that more
// would keep it from doing so.
inline constexpr uint64_t kMostOpenSteps = uint64_t{1} << 28;

}  // namespace capstan

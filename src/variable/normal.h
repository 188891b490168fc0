// Random bits to normal numbers, in plain arithmetic: the math library's
// results differ in the last bit between versions and processors, and initial
// values must not.
// Pure functions; thread-safe.
#pragma once

#include <cstdint>

namespace capstan {

// The z that a standard normal number is below with probability `p`, which must
// be in [2^-53, 1 - 2^-53]; to about 15 digits.
double InverseNormal(double p);

// A standard normal number from 64 random bits; at most 8.3 from 0.
double NormalOf(uint64_t bits);

// The same, distributed as if redrawn while it is more than 2 from 0; inverting
// the distribution function needs no second draw. The standard deviation is
// kTruncatedStddev.
double TruncatedNormalOf(uint64_t bits);
inline constexpr double kTruncatedStddev = 0.87962566103423978;

}  // namespace capstan

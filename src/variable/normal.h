// Random bits to normal numbers, in plain arithmetic: what the mathematical
// library computes differs in the last bit between its versions and between
// processors, and initial values must not.
// Pure functions; thread-safe.
#pragma once

#include <cstdint>

namespace capstan {

// The z below which a standard normal number is with probability `p`, which
// must be in [2^-53, 1 - 2^-53]; to about 15 digits.
double InverseNormal(double p);

// A standard normal number out of 64 random bits; at most 8.3 from 0.
double NormalOf(uint64_t bits);

// The same as if drawn again while it is more than 2 from 0: the inverse needs
// no second draw. Its standard deviation is kTruncatedStddev.
double TruncatedNormalOf(uint64_t bits);
inline constexpr double kTruncatedStddev = 0.87962566103423978;

}  // namespace capstan

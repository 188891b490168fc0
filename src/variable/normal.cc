#include "variable/normal.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace capstan {
namespace {

using Coefficients = std::array<double, 8>;

double Polynomial(const Coefficients& c, double x) {
  return ((((((c[7] * x + c[6]) * x + c[5]) * x + c[4]) * x + c[3]) * x +
           c[2]) *
              x +
          c[1]) *
             x +
         c[0];
}

// The natural logarithm of a normal positive number: x is m * 2^e with m near
// 1, and log m is 2 * atanh((m - 1) / (m + 1)), whose series converges fast.
double Log(double x) {
  constexpr double kLn2 = 0.693147180559945309417;
  constexpr uint64_t kOne = 0x3ff0000000000000;  // the bits of 1.0
  const auto bits = std::bit_cast<uint64_t>(x);
  auto exponent = static_cast<int>(bits >> 52) - 1023;
  auto m = std::bit_cast<double>((bits & 0x000fffffffffffff) | kOne);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  const double s = (m - 1) / (m + 1);
  const double s2 = s * s;  // at most 0.0295, so 11 terms reach 2^-55
  double sum = 1.0 / 21;
  for (int k = 19; k >= 1; k -= 2) sum = sum * s2 + 1.0 / k;
  return exponent * kLn2 + 2 * s * sum;
}

// 52 random bits plus one half: exact, and never 0 or 1 but equally far from
// both.
double OpenUniform(uint64_t bits) {
  return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
}

// Wichura, "The percentage points of the normal distribution", Applied
// Statistics 37 (1988), algorithm AS 241, PPND16: a rational function for the
// middle, one for the tails and one for the far tails.
constexpr Coefficients kMiddleAbove = {
    3.3871328727963666080e0,  1.3314166789178437745e+2,
    1.9715909503065514427e+3, 1.3731693765509461125e+4,
    4.5921953931549871457e+4, 6.7265770927008700853e+4,
    3.3430575583588128105e+4, 2.5090809287301226727e+3};
constexpr Coefficients kMiddleBelow = {1.0,
                                       4.2313330701600911252e+1,
                                       6.8718700749205790830e+2,
                                       5.3941960214247511077e+3,
                                       2.1213794301586595867e+4,
                                       3.9307895800092710610e+4,
                                       2.8729085735721942674e+4,
                                       5.2264952788528545610e+3};
constexpr Coefficients kTailAbove = {
    1.42343711074968357734e0,  4.63033784615654529590e0,
    5.76949722146069140550e0,  3.64784832476320460504e0,
    1.27045825245236838258e0,  2.41780725177450611770e-1,
    2.27238449892691845833e-2, 7.74545014278341407640e-4};
constexpr Coefficients kTailBelow = {1.0,
                                     2.05319162663775882187e0,
                                     1.67638483018380384940e0,
                                     6.89767334985100004550e-1,
                                     1.48103976427480074590e-1,
                                     1.51986665636164571966e-2,
                                     5.47593808499534494600e-4,
                                     1.05075007164441684324e-9};
constexpr Coefficients kFarAbove = {
    6.65790464350110377720e0,  5.46378491116411436990e0,
    1.78482653991729133580e0,  2.96560571828504891230e-1,
    2.65321895265761230930e-2, 1.24266094738807843860e-3,
    2.71155556874348757815e-5, 2.01033439929228813265e-7};
constexpr Coefficients kFarBelow = {1.0,
                                    5.99832206555887937690e-1,
                                    1.36929880922735805310e-1,
                                    1.48753612908506148525e-2,
                                    7.86869131145613259100e-4,
                                    1.84631831751005468180e-5,
                                    1.42151175831644588870e-7,
                                    2.04426310338993978564e-15};

}  // namespace

double InverseNormal(double p) {
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * Polynomial(kMiddleAbove, r) / Polynomial(kMiddleBelow, r);
  }
  // The square root is exact by IEEE 754, so the library's will do.
  double r = std::sqrt(-Log(q < 0 ? p : 1 - p));
  double z = 0;
  if (r <= 5) {
    r -= 1.6;
    z = Polynomial(kTailAbove, r) / Polynomial(kTailBelow, r);
  } else {
    r -= 5;
    z = Polynomial(kFarAbove, r) / Polynomial(kFarBelow, r);
  }
  return q < 0 ? -z : z;
}

double NormalOf(uint64_t bits) { return InverseNormal(OpenUniform(bits)); }

double TruncatedNormalOf(uint64_t bits) {
  constexpr double kBelowMinus2 = 0.022750131948179207;
  const double p = kBelowMinus2 + OpenUniform(bits) * (1 - 2 * kBelowMinus2);
  return std::clamp(InverseNormal(p), -2.0, 2.0);
}

}  // namespace capstan

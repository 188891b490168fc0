// Figures from samples. Pure functions.
#pragma once

#include <utility>
#include <vector>

namespace capstan {

// The value below which `fraction` of the samples lie (0.5: the median; of an
// even number the upper one). `samples` must not be empty.
double Quantile(std::vector<double> samples, double fraction);

inline double Median(std::vector<double> samples) {
  return Quantile(std::move(samples), 0.5);
}

}  // namespace capstan

#include "harness/statistics.h"

#include <algorithm>
#include <cstddef>

namespace capstan {

double Quantile(std::vector<double> samples, double fraction) {
  const size_t place = std::min(
      samples.size() - 1,
      static_cast<size_t>(fraction * static_cast<double>(samples.size())));
  const auto nth = samples.begin() + static_cast<ptrdiff_t>(place);
  std::nth_element(samples.begin(), nth, samples.end());
  return *nth;
}

}  // namespace capstan

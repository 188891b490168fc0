// Decides which of a server's complaints about its callers get a log line.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/async/rate_limit.h"

namespace capstan {

// The first complaint of each cause is logged at once, then one per kInterval
// with the number suppressed in between. Remembers kCauses causes and treats
// all others as one, so that a peer that keeps inventing new causes fills
// neither the log nor the memory. Not thread-safe.
class Complaints {
 public:
  static constexpr size_t kCauses = 16;
  static constexpr std::chrono::seconds kInterval{30};

  // If the complaint should be logged at `now` (on the monotonic clock),
  // returns the number of complaints of this cause that were suppressed since
  // the last one logged; otherwise nullopt.
  [[nodiscard]] std::optional<uint64_t> Add(const std::string& cause,
                                            std::chrono::nanoseconds now);

 private:
  struct Cause {
    RateLimit limit{1, kInterval};
    std::chrono::nanoseconds last{};
  };

  std::map<std::string, Cause> causes_;
};

}  // namespace capstan

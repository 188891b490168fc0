// Which of a server's complaints about its callers are worth a line of the log.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/async/rate_limit.h"

namespace capstan {

// The first complaint of each cause is to be said at once, and after that one
// per kInterval, with the number of those in between. Remembers kCauses causes;
// those beyond count as one, so that a peer that makes up new ones all the time
// fills neither the log nor the memory. Not thread-safe.
class Complaints {
 public:
  static constexpr size_t kCauses = 16;
  static constexpr std::chrono::seconds kInterval{30};

  // Whether to say it at `now` (on the monotonic clock): then the number of
  // complaints of this cause that were not said since the last one that was.
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

// Lets through at most n events in any interval and counts the rest, so that a
// misbehaving peer cannot fill the log.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace capstan {

// Not thread-safe: owned by one executor. The caller passes the time, on the
// monotonic clock (clock.Now().time_since_epoch()); a time earlier than a
// previous one counts as the previous one.
class RateLimit {
 public:
  // At most `limit` events in any stretch of time shorter than `interval`.
  // Keeps `limit` times in memory. A limit of 0 lets nothing through.
  RateLimit(size_t limit, std::chrono::nanoseconds interval)
      : interval_(interval), allowed_at_(limit) {}

  // Asks whether an event at `now` may pass. If so, returns the number of
  // events suppressed since the last one that passed (for the log line to
  // mention); otherwise counts it as suppressed and returns nullopt.
  [[nodiscard]] std::optional<uint64_t> Allow(std::chrono::nanoseconds now) {
    if (allowed_at_.empty()) {
      ++suppressed_;
      return std::nullopt;
    }
    latest_ = now = std::max(now, latest_);
    // The slot to overwrite holds the time of the event `limit` events ago.
    std::optional<std::chrono::nanoseconds>& slot = allowed_at_[next_];
    if (slot.has_value() && now - *slot < interval_) {
      ++suppressed_;
      return std::nullopt;
    }
    slot = now;
    next_ = (next_ + 1) % allowed_at_.size();
    const uint64_t suppressed = suppressed_;
    suppressed_ = 0;
    return suppressed;
  }

  // Events suppressed since the last one that passed.
  uint64_t suppressed() const { return suppressed_; }

 private:
  const std::chrono::nanoseconds interval_;
  std::vector<std::optional<std::chrono::nanoseconds>> allowed_at_;
  size_t next_ = 0;
  uint64_t suppressed_ = 0;
  std::chrono::nanoseconds latest_ = std::chrono::nanoseconds::min();
};

}  // namespace capstan

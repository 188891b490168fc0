// What a program counts and measures. Create metrics through a MetricsRegistry,
// which names them.
//
// Thread-safe, without locks: a change is one or two atomic additions, cheap
// enough for the hottest loop. Other threads may see one thread's changes in
// another order.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace capstan {

// A value that only grows, such as the number of requests served.
class Counter {
 public:
  Counter() = default;
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  void Increment(uint64_t by = 1) {
    value_.fetch_add(by, std::memory_order_relaxed);
  }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_ = 0;
};

// A value that goes up and down, such as the number of open connections.
class Gauge {
 public:
  Gauge() = default;
  Gauge(const Gauge&) = delete;
  Gauge& operator=(const Gauge&) = delete;

  void Set(double value) { value_.store(value, std::memory_order_relaxed); }
  // Adds `change`, which may be negative.
  void Add(double change) {
    value_.fetch_add(change, std::memory_order_relaxed);
  }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_ = 0;
  static_assert(std::atomic<double>::is_always_lock_free);
};

// The distribution of a measured value, such as request time.
class Histogram {
 public:
  // One bucket for each of `bounds`, which must be finite and ascending, and
  // one for values above the last bound.
  explicit Histogram(std::span<const double> bounds);
  Histogram(const Histogram&) = delete;
  Histogram& operator=(const Histogram&) = delete;

  // Counts `value` in the first bucket whose bound is not below it. NaN counts
  // as above all bounds and is left out of the sum, which it would ruin.
  void Observe(double value);

  const std::vector<double>& bounds() const { return bounds_; }
  // The number of values in each bucket; the last is for values above all
  // bounds. Values that are observed concurrently may be missing here or in the
  // sum.
  std::vector<uint64_t> counts() const;
  double sum() const { return sum_.value(); }

 private:
  const std::vector<double> bounds_;
  const std::unique_ptr<std::atomic<uint64_t>[]> counts_;  // bounds + 1
  Gauge sum_;
};

}  // namespace capstan

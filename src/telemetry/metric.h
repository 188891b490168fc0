// What a program counts and measures. To be made by a MetricsRegistry, which
// names them.
//
// Thread-safe and without locks: each change is an atomic addition or two, so
// that they may stand in the hottest loop. Changes of one thread may be seen in
// another order by others.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace capstan {

// Something that only grows, such as the requests served.
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

// Something that goes up and down, such as the connections that are open.
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

// How often something had about which size, such as the time of a request.
class Histogram {
 public:
  // A bucket for each of `bounds`, which ascend and are finite, and one for
  // what is above the last.
  explicit Histogram(std::span<const double> bounds);
  Histogram(const Histogram&) = delete;
  Histogram& operator=(const Histogram&) = delete;

  // Counts `value` in the first bucket whose bound is not below it. NaN counts
  // as above all bounds and is left out of the sum, which it would spoil.
  void Observe(double value);

  const std::vector<double>& bounds() const { return bounds_; }
  // How many values are in each bucket, the last for those above all bounds.
  // Of values that are observed meanwhile some may be missing, here or in the
  // sum.
  std::vector<uint64_t> counts() const;
  double sum() const { return sum_.value(); }

 private:
  const std::vector<double> bounds_;
  const std::unique_ptr<std::atomic<uint64_t>[]> counts_;  // bounds + 1
  Gauge sum_;
};

}  // namespace capstan

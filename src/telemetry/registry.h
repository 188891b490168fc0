// The metrics of a program, by name, for people and for programs.
//
//   MetricsRegistry registry;
//   Counter& pulls = registry.AddCounter("capstan_pulls_total",
//                                        "Pulls served.", {{"server", "0"}});
//   pulls.Increment();
//   Send(registry.ToText());
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "telemetry/metric.h"

namespace capstan {

// Labels distinguish metrics that have the same name. Label names follow
// Prometheus: [a-zA-Z_][a-zA-Z0-9_]*, not beginning with "__", and not "le" for
// a histogram. Values are any text.
using MetricLabels = std::map<std::string, std::string>;

enum class MetricKind : uint8_t { kCounter, kGauge, kHistogram };

// The state of a metric at one moment.
struct MetricSample {
  struct Bucket {
    double bound = 0;    // infinity for the last
    uint64_t count = 0;  // cumulative: of all values up to the bound
  };

  std::string name;
  std::string help;
  MetricLabels labels;
  MetricKind kind = MetricKind::kCounter;
  double value = 0;             // of a histogram: the sum
  std::vector<Bucket> buckets;  // of a histogram
};

// Thread-safe. Adding and reading take a lock; changing a metric does not, so
// keep the reference instead of looking it up each time.
class MetricsRegistry {
 public:
  MetricsRegistry() = default;
  MetricsRegistry(const MetricsRegistry&) = delete;
  MetricsRegistry& operator=(const MetricsRegistry&) = delete;

  // Returns the metric with that name and those labels, creating it if
  // necessary. It lives as long as the registry. `help` is one sentence for
  // people; the first one given for a name stays.
  //
  // Names are part of the program, so a wrong one is a bug and aborts the
  // process with a message: a name that is not [a-zA-Z_:][a-zA-Z0-9_:]*, or
  // that begins with "__"; a label name that breaks the rule above; a name
  // already used for another kind of metric; bounds that do not ascend, are not
  // finite or differ from those registered under the name.
  Counter& AddCounter(std::string_view name, std::string_view help,
                      const MetricLabels& labels = {});
  Gauge& AddGauge(std::string_view name, std::string_view help,
                  const MetricLabels& labels = {});
  Histogram& AddHistogram(std::string_view name, std::string_view help,
                          std::span<const double> bounds,
                          const MetricLabels& labels = {});

  // All metrics in the text format of Prometheus, version 0.0.4, ordered by
  // name and labels.
  std::string ToText() const;
  // The same for programs, in the same order.
  std::vector<MetricSample> Samples() const;

 private:
  // In the order of MetricKind.
  using Metric = std::variant<Counter, Gauge, Histogram>;
  // All metrics of one name.
  struct Family {
    MetricKind kind = MetricKind::kCounter;
    std::string help;
    std::vector<double> bounds;
    std::map<MetricLabels, Metric> metrics;
  };

  // The family, created if necessary. mutex_ must be held.
  Family& FamilyOf(std::string_view name, std::string_view help,
                   MetricKind kind, const MetricLabels& labels,
                   std::span<const double> bounds);

  mutable std::mutex mutex_;
  // Guarded by mutex_, except the contents of the metrics.
  std::map<std::string, Family, std::less<>> families_;
};

}  // namespace capstan

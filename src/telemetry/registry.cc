// From prometheus-cpp this uses the naming rules and the text serializer. Its
// metrics are not used: its histogram takes a lock for each value.
#include "telemetry/registry.h"

#include <prometheus/check_names.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace capstan {
namespace {

[[noreturn]] void Refuse(const std::string& name, std::string_view reason) {
  std::fprintf(stderr, "capstan: metric '%s': %.*s\n", name.c_str(),
               static_cast<int>(reason.size()), reason.data());
  std::abort();
}

void CheckNames(const std::string& name, MetricKind kind,
                const MetricLabels& labels) {
  if (name.empty() || !prometheus::CheckMetricName(name)) {
    Refuse(name, "this cannot be the name of a metric");
  }
  for (const auto& [label, value] : labels) {
    const bool taken = kind == MetricKind::kHistogram && label == "le";
    if (label.empty() || taken || !prometheus::CheckLabelName(label)) {
      Refuse(name, absl::StrCat("'", label, "' cannot be a label's name"));
    }
  }
}

void CheckBounds(const std::string& name, std::span<const double> bounds) {
  const bool finite = std::ranges::all_of(
      bounds, [](double bound) { return std::isfinite(bound); });
  const bool ascend = std::ranges::adjacent_find(
                          bounds, std::greater_equal<>()) == bounds.end();
  if (!finite || !ascend) Refuse(name, "bounds that do not ascend");
}

void Read(const Counter& counter, MetricSample& sample) {
  sample.value = static_cast<double>(counter.value());
}

void Read(const Gauge& gauge, MetricSample& sample) {
  sample.value = gauge.value();
}

void Read(const Histogram& histogram, MetricSample& sample) {
  sample.value = histogram.sum();
  std::vector<double> bounds = histogram.bounds();
  bounds.push_back(std::numeric_limits<double>::infinity());
  const std::vector<uint64_t> counts = histogram.counts();
  uint64_t total = 0;
  for (size_t i = 0; i < bounds.size(); ++i) {
    total += counts[i];
    sample.buckets.push_back({.bound = bounds[i], .count = total});
  }
}

prometheus::MetricType TypeOf(MetricKind kind) {
  switch (kind) {
    case MetricKind::kCounter:
      return prometheus::MetricType::Counter;
    case MetricKind::kGauge:
      return prometheus::MetricType::Gauge;
    case MetricKind::kHistogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

prometheus::ClientMetric ToPrometheus(const MetricSample& sample) {
  prometheus::ClientMetric metric;
  for (const auto& [name, value] : sample.labels) {
    metric.label.push_back({.name = name, .value = value});
  }
  metric.counter.value = sample.value;
  metric.gauge.value = sample.value;
  metric.histogram.sample_sum = sample.value;
  for (const MetricSample::Bucket& bucket : sample.buckets) {
    metric.histogram.bucket.push_back(
        {.cumulative_count = bucket.count, .upper_bound = bucket.bound});
    metric.histogram.sample_count = bucket.count;
  }
  return metric;
}

}  // namespace

MetricsRegistry::Family& MetricsRegistry::FamilyOf(
    std::string_view name, std::string_view help, MetricKind kind,
    const MetricLabels& labels, std::span<const double> bounds) {
  const std::string key(name);
  CheckNames(key, kind, labels);
  CheckBounds(key, bounds);
  const auto [place, added] = families_.try_emplace(key);
  Family& family = place->second;
  if (added) {
    family.kind = kind;
    family.help = help;
    family.bounds.assign(bounds.begin(), bounds.end());
  }
  if (family.kind != kind) Refuse(key, "there is one of another kind");
  if (!std::ranges::equal(family.bounds, bounds)) {
    Refuse(key, "there is one with other bounds");
  }
  return family;
}

Counter& MetricsRegistry::AddCounter(std::string_view name,
                                     std::string_view help,
                                     const MetricLabels& labels) {
  const std::lock_guard lock(mutex_);
  Family& family = FamilyOf(name, help, MetricKind::kCounter, labels, {});
  const auto place =
      family.metrics.try_emplace(labels, std::in_place_type<Counter>);
  return std::get<Counter>(place.first->second);
}

Gauge& MetricsRegistry::AddGauge(std::string_view name, std::string_view help,
                                 const MetricLabels& labels) {
  const std::lock_guard lock(mutex_);
  Family& family = FamilyOf(name, help, MetricKind::kGauge, labels, {});
  const auto place =
      family.metrics.try_emplace(labels, std::in_place_type<Gauge>);
  return std::get<Gauge>(place.first->second);
}

Histogram& MetricsRegistry::AddHistogram(std::string_view name,
                                         std::string_view help,
                                         std::span<const double> bounds,
                                         const MetricLabels& labels) {
  const std::lock_guard lock(mutex_);
  Family& family = FamilyOf(name, help, MetricKind::kHistogram, labels, bounds);
  const auto place =
      family.metrics.try_emplace(labels, std::in_place_type<Histogram>, bounds);
  return std::get<Histogram>(place.first->second);
}

std::vector<MetricSample> MetricsRegistry::Samples() const {
  const std::lock_guard lock(mutex_);
  std::vector<MetricSample> samples;
  for (const auto& [name, family] : families_) {
    for (const auto& [labels, metric] : family.metrics) {
      MetricSample& sample = samples.emplace_back();
      sample.name = name;
      sample.help = family.help;
      sample.labels = labels;
      sample.kind = family.kind;
      std::visit([&sample](const auto& m) { Read(m, sample); }, metric);
    }
  }
  return samples;
}

std::string MetricsRegistry::ToText() const {
  std::vector<prometheus::MetricFamily> families;
  for (const MetricSample& sample : Samples()) {
    if (families.empty() || families.back().name != sample.name) {
      prometheus::MetricFamily& family = families.emplace_back();
      family.name = sample.name;
      // The library escapes label values, but not help texts.
      family.help =
          absl::StrReplaceAll(sample.help, {{"\\", "\\\\"}, {"\n", "\\n"}});
      family.type = TypeOf(sample.kind);
    }
    families.back().metric.push_back(ToPrometheus(sample));
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace capstan

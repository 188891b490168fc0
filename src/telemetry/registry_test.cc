#include "telemetry/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace capstan {
namespace {

using ::testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<double> Bounds() { return {0.5, 2}; }

TEST(RegistryTest, NothingIsEmptyText) {
  const MetricsRegistry registry;
  EXPECT_EQ(registry.ToText(), "");
  EXPECT_TRUE(registry.Samples().empty());
}

TEST(RegistryTest, OneNameAndLabelsAreOneMetric) {
  MetricsRegistry registry;
  Counter& plain = registry.AddCounter("c", "help");
  Counter& one = registry.AddCounter("c", "help", {{"a", "1"}, {"b", "2"}});
  Counter& two = registry.AddCounter("c", "help", {{"a", "1"}, {"b", "3"}});
  EXPECT_EQ(&registry.AddCounter("c", "help"), &plain);
  EXPECT_EQ(&registry.AddCounter("c", "help", {{"b", "2"}, {"a", "1"}}), &one);
  EXPECT_NE(&one, &two);
  EXPECT_NE(&one, &plain);
  Gauge& gauge = registry.AddGauge("g", "help");
  EXPECT_EQ(&registry.AddGauge("g", "help"), &gauge);
  Histogram& histogram = registry.AddHistogram("h", "help", Bounds());
  EXPECT_EQ(&registry.AddHistogram("h", "help", Bounds()), &histogram);
}

// docs: https://prometheus.io/docs/instrumenting/exposition_formats/
TEST(RegistryTest, Text) {
  MetricsRegistry registry;
  registry.AddGauge("open", "Connections that are open.").Set(-2.5);
  registry.AddCounter("pulls_total", "Pulls.", {{"server", "1"}}).Increment(7);
  registry.AddCounter("pulls_total", "Other.", {{"server", "0"}}).Increment();
  Histogram& times =
      registry.AddHistogram("seconds", "Times.", Bounds(), {{"verb", "pull"}});
  for (const double value : {0.25, 0.5, 1.0, 3.0}) times.Observe(value);
  EXPECT_EQ(registry.ToText(),
            "# HELP open Connections that are open.\n"
            "# TYPE open gauge\n"
            "open -2.5\n"
            "# HELP pulls_total Pulls.\n"
            "# TYPE pulls_total counter\n"
            "pulls_total{server=\"0\"} 1\n"
            "pulls_total{server=\"1\"} 7\n"
            "# HELP seconds Times.\n"
            "# TYPE seconds histogram\n"
            "seconds_count{verb=\"pull\"} 4\n"
            "seconds_sum{verb=\"pull\"} 4.75\n"
            "seconds_bucket{verb=\"pull\",le=\"0.5\"} 2\n"
            "seconds_bucket{verb=\"pull\",le=\"2\"} 3\n"
            "seconds_bucket{verb=\"pull\",le=\"+Inf\"} 4\n");
}

TEST(RegistryTest, TextOfSpecialValues) {
  MetricsRegistry registry;
  registry.AddCounter("exact", "").Increment((uint64_t{1} << 53) - 1);
  registry.AddGauge("infinite", "").Set(-kInf);
  registry.AddGauge("nan", "").Set(std::numeric_limits<double>::quiet_NaN());
  const std::string text = registry.ToText();
  EXPECT_THAT(text, HasSubstr("exact 9007199254740991\n"));
  EXPECT_THAT(text, HasSubstr("infinite -Inf\n"));
  EXPECT_THAT(text, HasSubstr("nan Nan\n"));
}

TEST(RegistryTest, TextIsEscaped) {
  MetricsRegistry registry;
  registry.AddCounter("c", "a\\b\nc", {{"path", "a\"b\\c\nd"}});
  EXPECT_EQ(registry.ToText(),
            "# HELP c a\\\\b\\nc\n"
            "# TYPE c counter\n"
            "c{path=\"a\\\"b\\\\c\\nd\"} 0\n");
}

TEST(RegistryTest, Samples) {
  MetricsRegistry registry;
  registry.AddHistogram("h", "Sizes.", Bounds()).Observe(1);
  registry.AddCounter("c", "Calls.", {{"a", "b"}}).Increment(3);
  const std::vector<MetricSample> samples = registry.Samples();
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0].name, "c");
  EXPECT_EQ(samples[0].help, "Calls.");
  EXPECT_EQ(samples[0].labels, (MetricLabels{{"a", "b"}}));
  EXPECT_EQ(samples[0].kind, MetricKind::kCounter);
  EXPECT_EQ(samples[0].value, 3);
  EXPECT_TRUE(samples[0].buckets.empty());
  EXPECT_EQ(samples[1].kind, MetricKind::kHistogram);
  EXPECT_EQ(samples[1].value, 1);
  ASSERT_EQ(samples[1].buckets.size(), 3u);
  EXPECT_EQ(samples[1].buckets[0].bound, 0.5);
  EXPECT_EQ(samples[1].buckets[0].count, 0u);
  EXPECT_EQ(samples[1].buckets[1].count, 1u);
  EXPECT_EQ(samples[1].buckets[2].bound, kInf);
  EXPECT_EQ(samples[1].buckets[2].count, 1u);
}

TEST(RegistryTest, NamesThatAreRight) {
  MetricsRegistry registry;
  for (const char* name : {"a", "_", ":", "Z9", "a:b_c9"}) {
    registry.AddCounter(name, "", {{"_a9", ""}});
  }
  EXPECT_EQ(registry.Samples().size(), 5u);
}

TEST(RegistryDeathTest, NamesThatAreWrong) {
  MetricsRegistry registry;
  for (const char* name : {"", "9a", "a-b", "a b", "\xc3\xa4", "__a"}) {
    EXPECT_DEATH(registry.AddCounter(name, ""), "the name of a metric") << name;
  }
  for (const char* label : {"", "9a", "a-b", "a:b", "__a"}) {
    EXPECT_DEATH(registry.AddGauge("g", "", {{label, "x"}}), "a label's name")
        << label;
  }
  EXPECT_DEATH(registry.AddHistogram("h", "", Bounds(), {{"le", "x"}}),
               "'h': 'le' cannot be a label's name");
}

TEST(RegistryDeathTest, OneNameForTwoThings) {
  MetricsRegistry registry;
  registry.AddCounter("c", "");
  registry.AddHistogram("h", "", Bounds());
  EXPECT_DEATH(registry.AddGauge("c", "", {{"a", "b"}}), "another kind");
  const std::vector<double> other = {1};
  EXPECT_DEATH(registry.AddHistogram("h", "", other, {{"a", "b"}}),
               "other bounds");
}

TEST(RegistryDeathTest, BoundsThatAreWrong) {
  MetricsRegistry registry;
  const std::vector<std::vector<double>> wrong = {
      {2, 1}, {1, 1}, {1, kInf}, {std::numeric_limits<double>::quiet_NaN()}};
  for (const std::vector<double>& bounds : wrong) {
    EXPECT_DEATH(registry.AddHistogram("h", "", bounds), "do not ascend");
  }
}

TEST(RegistryTest, ManyThreads) {
  constexpr int kThreads = 4;
  constexpr int kTimes = 500;
  MetricsRegistry registry;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&registry] {
        for (int i = 0; i < kTimes; ++i) {
          registry.AddCounter("c", "", {{"i", std::to_string(i)}}).Increment();
          registry.AddHistogram("h", "", Bounds()).Observe(1);
          if (i % 100 != 0) continue;
          EXPECT_THAT(registry.ToText(), HasSubstr("h_sum"));
        }
      });
    }
  }
  const std::vector<MetricSample> samples = registry.Samples();
  ASSERT_EQ(samples.size(), kTimes + 1u);
  for (int i = 0; i < kTimes; ++i) {
    EXPECT_EQ(samples[static_cast<size_t>(i)].value, kThreads);
  }
  EXPECT_EQ(samples.back().value, kThreads * kTimes);
}

}  // namespace
}  // namespace capstan

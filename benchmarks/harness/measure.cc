#include "harness/measure.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "harness/statistics.h"

namespace capstan {
namespace {

struct Case {
  Exchange exchange;  // with a count that takes about 50 ms
  const char* name;
  const char* key;
};

constexpr Case kCases[] = {
    {{ExchangeKind::kRoundTrip, 8, 2'000}, "8 B round trip", "rtt_8"},
    {{ExchangeKind::kRoundTrip, 4 << 10, 2'000}, "4 KiB round trip", "rtt_4k"},
    {{ExchangeKind::kPull, 64 << 10, 800}, "64 KiB pull", "gbps_64k"},
    {{ExchangeKind::kPull, 1 << 20, 200}, "1 MiB pull", "gbps_1m"},
    {{ExchangeKind::kPull, 64 << 20, 4}, "64 MiB pull", "gbps_64m"},
    {{ExchangeKind::kPush, 64 << 10, 800}, "64 KiB push", "push_gbps_64k"},
    {{ExchangeKind::kPush, 1 << 20, 200}, "1 MiB push", "push_gbps_1m"},
    {{ExchangeKind::kPush, 64 << 20, 4}, "64 MiB push", "push_gbps_64m"},
};

struct Samples {
  std::vector<double> ours;
  std::vector<double> bare;
  std::vector<double> ratio;
};

// Converts seconds to the reported figure: microseconds, or GB/s.
double Figure(const Exchange& exchange, double seconds) {
  if (exchange.kind == ExchangeKind::kRoundTrip) return seconds * 1e6;
  return static_cast<double>(exchange.bytes) / seconds / 1e9;
}

absl::Status RunOnce(const Exchange& exchange, Contender& contender,
                     std::vector<double>& figures) {
  absl::StatusOr<double> seconds = contender.Run(exchange);
  if (!seconds.ok()) return seconds.status();
  figures.push_back(Figure(exchange, *seconds));
  return absl::OkStatus();
}

absl::Status RunBoth(const Exchange& exchange, bool ours_first, Contender& ours,
                     Contender& bare, Samples& samples) {
  if (ours_first) {
    CAPSTAN_RETURN_IF_ERROR(RunOnce(exchange, ours, samples.ours));
  }
  CAPSTAN_RETURN_IF_ERROR(RunOnce(exchange, bare, samples.bare));
  if (!ours_first) {
    CAPSTAN_RETURN_IF_ERROR(RunOnce(exchange, ours, samples.ours));
  }
  samples.ratio.push_back(samples.ours.back() / samples.bare.back());
  return absl::OkStatus();
}

void Add(const std::string& prefix, const Case& the_case,
         const Samples& samples, Report& report) {
  const bool is_time = the_case.exchange.kind == ExchangeKind::kRoundTrip;
  const std::string unit = is_time ? "_us" : "";
  const double ours = Median(samples.ours);
  const double bare = Median(samples.bare);
  const double ratio = Median(samples.ratio);
  report.Set(absl::StrCat(prefix, ".", the_case.key, unit), ours);
  report.Set(absl::StrCat(prefix, ".bare_", the_case.key, unit), bare);
  report.Set(absl::StrCat(prefix, ".", the_case.key, "_ratio"), ratio);
  report.PrintRow(the_case.name, is_time ? "us" : "GB/s", ours, bare, ratio);
}

}  // namespace

absl::Status MeasureExchanges(const std::string& prefix, Contender& ours,
                              Contender& bare, int rounds, Report& report) {
  std::vector<Samples> samples(std::size(kCases));
  // Round -1 warms up caches, windows and allocators, and does not count.
  for (int round = -1; round < rounds; ++round) {
    if (round == 0) samples.assign(std::size(kCases), {});
    for (size_t i = 0; i < std::size(kCases); ++i) {
      CAPSTAN_RETURN_IF_ERROR(
          RunBoth(kCases[i].exchange, round % 2 == 0, ours, bare, samples[i]));
    }
  }
  for (size_t i = 0; i < std::size(kCases); ++i) {
    Add(prefix, kCases[i], samples[i], report);
  }
  return absl::OkStatus();
}

}  // namespace capstan

#include "launch/status/dispatch_table.h"

#include <fmt/format.h>

#include "launch/system/printable.h"

namespace capstan {
namespace {

std::string Time(uint64_t microseconds) {
  const auto us = static_cast<double>(microseconds);
  if (us < 1'000) return fmt::format("{:.0f} us", us);
  if (us < 1'000'000) return fmt::format("{:.1f} ms", us / 1e3);
  return fmt::format("{:.1f} s", us / 1e6);
}

// What it has been doing for the longest time.
std::string Longest(const LinkReport& link) {
  if (!link.making.empty()) {
    return fmt::format("makes '{}' for {}", Printable(link.making),
                       Time(1'000 * link.making_ms));
  }
  if (link.in_flight == 0) return "";
  return fmt::format("step {} ('{}') for {}", link.oldest_step,
                     Printable(link.oldest_function),
                     Time(1'000 * link.oldest_ms));
}

}  // namespace

std::string DispatchTable(const DispatchReport& report) {
  if (!report.active) return "";
  std::string text = fmt::format(
      "functions: {} queued, {} in flight, {} finished ({:.0f}/s), {} failed, "
      "{} cancelled; all steps to {} are over",
      report.queued, report.in_flight, report.finished, report.per_second,
      report.failed, report.cancelled, report.watermark);
  if (report.round > 0) text += fmt::format(", round {}", report.round);
  text += fmt::format(
      "\nrun again: {} because a worker was lost, {} because it could not "
      "reach a server, {} because it left; {} poisoned\n",
      report.lost_retries, report.server_retries, report.leaving_retries,
      report.poisoned);
  if (!report.error.empty()) {
    text += fmt::format("to be raised: {}\n", Printable(report.error));
  }
  if (report.workers.empty()) return text;
  text +=
      fmt::format("{:<12} {:<11} {:>9} {:>10} {:>7} {:>5} {:>9} {:>9}  {}\n",
                  "WORKER", "STATE", "IN FLIGHT", "FINISHED", "FAILED", "LOST",
                  "MEAN", "P99", "LONGEST");
  for (const LinkReport& link : report.workers) {
    text +=
        fmt::format("{:<12} {:<11} {:>9} {:>10} {:>7} {:>5} {:>9} {:>9}  {}\n",
                    Printable(link.task), LinkStateName(link.state),
                    link.in_flight, link.finished, link.failed, link.lost,
                    Time(link.mean_us), Time(link.p99_us),
                    link.error.empty() ? Longest(link) : Printable(link.error));
  }
  return text;
}

}  // namespace capstan

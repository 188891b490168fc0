#include "coordinator/dispatch_metrics.h"

#include <array>

namespace capstan {
namespace {

constexpr std::array kSeconds = {0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03,
                                 0.1,    0.3,    1.0,   3.0,   10.0, 100.0};

constexpr char kEnded[] = "capstan_functions_ended_total";
constexpr char kEndedHelp[] = "Scheduled functions that have ended, and how.";
constexpr char kRetries[] = "capstan_function_retries_total";
constexpr char kRetriesHelp[] =
    "Functions that were given to another worker, and why.";

}  // namespace

DispatchMetrics::DispatchMetrics(MetricsRegistry& registry)
    : registry_(registry),
      queued_(registry.AddGauge("capstan_functions_queued",
                                "Functions that wait for a worker.")),
      in_flight_(registry.AddGauge("capstan_functions_in_flight",
                                   "Functions that a worker has.")),
      ready_workers_(registry.AddGauge("capstan_ready_workers",
                                       "Workers that functions are sent to.")),
      finished_(registry.AddCounter(kEnded, kEndedHelp, {{"end", "finished"}})),
      failed_(registry.AddCounter(kEnded, kEndedHelp, {{"end", "failed"}})),
      cancelled_(
          registry.AddCounter(kEnded, kEndedHelp, {{"end", "cancelled"}})),
      lost_retries_(
          registry.AddCounter(kRetries, kRetriesHelp, {{"reason", "lost"}})),
      server_retries_(
          registry.AddCounter(kRetries, kRetriesHelp, {{"reason", "server"}})),
      leaving_retries_(
          registry.AddCounter(kRetries, kRetriesHelp, {{"reason", "leaving"}})),
      poisoned_(registry.AddCounter(
          "capstan_functions_poisoned_total",
          "Functions that were given up after they took down workers.")) {}

void DispatchMetrics::Update(const QueueCounts& counts, size_t ready_workers) {
  queued_.Set(static_cast<double>(counts.queued));
  in_flight_.Set(static_cast<double>(counts.in_flight));
  ready_workers_.Set(static_cast<double>(ready_workers));
  finished_.Increment(counts.finished - last_.finished);
  failed_.Increment(counts.failed - last_.failed);
  cancelled_.Increment(counts.cancelled - last_.cancelled);
  lost_retries_.Increment(counts.lost_retries - last_.lost_retries);
  server_retries_.Increment(counts.server_retries - last_.server_retries);
  leaving_retries_.Increment(counts.leaving_retries - last_.leaving_retries);
  poisoned_.Increment(counts.poisoned - last_.poisoned);
  last_ = counts;
}

Histogram& DispatchMetrics::LatencyOf(const std::string& worker) {
  return registry_.AddHistogram(
      "capstan_function_seconds",
      "From sending a function to a worker to its answer.", kSeconds,
      {{"worker", worker}});
}

Counter& DispatchMetrics::LossesOf(const std::string& worker) {
  return registry_.AddCounter("capstan_worker_losses_total",
                              "How often a worker was lost.",
                              {{"worker", worker}});
}

}  // namespace capstan

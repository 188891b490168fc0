// The dispatcher's metrics.
#pragma once

#include <string>

#include "coordinator/closure/closure_queue.h"
#include "telemetry/registry.h"

namespace capstan {

// Not thread-safe; the metrics themselves are.
class DispatchMetrics {
 public:
  // `registry` must outlive it.
  explicit DispatchMetrics(MetricsRegistry& registry);

  // Sets the metrics to the counts of the queue.
  void Update(const QueueCounts& counts, size_t ready_workers);

  // Time from sending a function to a worker to its answer, in seconds.
  Histogram& LatencyOf(const std::string& worker);
  // How often the worker was lost.
  Counter& LossesOf(const std::string& worker);

 private:
  MetricsRegistry& registry_;
  Gauge& queued_;
  Gauge& in_flight_;
  Gauge& ready_workers_;
  Counter& finished_;
  Counter& failed_;
  Counter& cancelled_;
  Counter& lost_retries_;
  Counter& server_retries_;
  Counter& leaving_retries_;
  Counter& poisoned_;
  QueueCounts last_;
};

}  // namespace capstan

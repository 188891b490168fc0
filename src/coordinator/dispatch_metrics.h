// What the dispatcher counts, in a registry.
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

  // Brings the metrics to what the queue says.
  void Update(const QueueCounts& counts, size_t ready_workers);

  // How long functions take on a worker, from sending to the answer, in
  // seconds.
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

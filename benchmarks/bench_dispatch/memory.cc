#include <memory>
#include <vector>

#include "base/status.h"
#include "bench_dispatch/experiments.h"
#include "bench_dispatch/job.h"
#include "launch/system/resident_memory.h"

namespace capstan {

absl::Status MeasureMemory(Report& report) {
  constexpr size_t kQueued = 262'144;
  absl::StatusOr<std::unique_ptr<BenchJob>> job = BenchJob::Start(4, false);
  if (!job.ok()) return job.status();
  double bytes = 0;
  CAPSTAN_RETURN_IF_ERROR((*job)->Run(
      CoordinatorOptions(),
      [&](ClusterCoordinator& coordinator, BenchFunctions& functions) {
        // Keeps the workers fully busy.
        std::vector<RemoteValue<void>> busy;
        for (int i = 0; i < 12; ++i) {
          busy.push_back(coordinator.Schedule(functions.wait));
        }
        while (coordinator.Status().in_flight < 12) {
        }
        std::vector<RemoteValue<int>> values;
        values.reserve(kQueued);
        const uint64_t before = ResidentBytes();
        for (size_t i = 0; i < kQueued; ++i) {
          values.push_back(coordinator.Schedule(functions.compute, 0));
        }
        bytes = static_cast<double>(ResidentBytes() - before);
        for (const RemoteValue<void>& one : busy) one.Cancel();
        for (const RemoteValue<int>& value : values) value.Cancel();
        coordinator.Join();
      }));
  report.Set("queued_262144_mb", bytes / 1e6);
  report.PrintRow("262,144 queued closures with their results to come", "MB",
                  bytes / 1e6);
  return absl::OkStatus();
}

}  // namespace capstan

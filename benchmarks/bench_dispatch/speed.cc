#include <chrono>
#include <memory>
#include <vector>

#include "base/status.h"
#include "bench_dispatch/experiments.h"
#include "bench_dispatch/job.h"
#include "harness/bare_socket.h"
#include "harness/running_server.h"
#include "harness/statistics.h"

namespace capstan {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kMany = 60'000;
constexpr int kAlone = 2'000;
// The bytes of a request, or an answer, beyond its header.
constexpr uint64_t kBytes = 32;

double Seconds(SteadyClock::time_point since) {
  return std::chrono::duration<double>(SteadyClock::now() - since).count();
}

// Null closures per second, with as many in flight as allowed.
double Rate(ClusterCoordinator& coordinator, BenchFunctions& functions) {
  const auto start = SteadyClock::now();
  for (int i = 0; i < kMany; ++i) coordinator.Schedule(functions.nothing);
  coordinator.Join();
  return kMany / Seconds(start);
}

// Seconds per closure when only one is in flight.
double Alone(ClusterCoordinator& coordinator, BenchFunctions& functions) {
  const auto start = SteadyClock::now();
  for (int i = 0; i < kAlone; ++i) {
    coordinator.Schedule(functions.nothing).Fetch();
  }
  return Seconds(start) / kAlone;
}

absl::StatusOr<double> RateOf(int workers, bool threads, int rounds) {
  absl::StatusOr<std::unique_ptr<BenchJob>> job =
      BenchJob::Start(workers, threads);
  if (!job.ok()) return job.status();
  std::vector<double> rates;
  CAPSTAN_RETURN_IF_ERROR((*job)->Run(
      CoordinatorOptions(),
      [&](ClusterCoordinator& coordinator, BenchFunctions& functions) {
        Rate(coordinator, functions);
        for (int i = 0; i < rounds; ++i) {
          rates.push_back(Rate(coordinator, functions));
        }
      }));
  return Median(rates);
}

}  // namespace

absl::Status MeasureSpeed(int rounds, Report& report) {
  absl::StatusOr<RunningServer> bare_server =
      StartServer({"serve-bare", "127.0.0.1:0"});
  if (!bare_server.ok()) return bare_server.status();
  absl::StatusOr<std::unique_ptr<Contender>> bare =
      ConnectBare(bare_server->address);
  if (!bare.ok()) return bare.status();
  absl::StatusOr<std::unique_ptr<BenchJob>> job = BenchJob::Start(4, false);
  if (!job.ok()) return job.status();
  std::vector<double> rates;
  std::vector<double> times;
  std::vector<double> bare_times;
  std::vector<double> ratios;
  absl::Status bare_status;
  const auto measure = [&](ClusterCoordinator& coordinator,
                           BenchFunctions& functions) {
    Rate(coordinator, functions);
    for (int i = 0; i < rounds; ++i) {
      rates.push_back(Rate(coordinator, functions));
    }
    Exchange exchange = {ExchangeKind::kRoundTrip, kBytes, kAlone};
    for (int i = 0; i < rounds && bare_status.ok(); ++i) {
      times.push_back(1e6 * Alone(coordinator, functions));
      const absl::StatusOr<double> seconds = (*bare)->Run(exchange);
      bare_status = seconds.status();
      if (!seconds.ok()) return;
      bare_times.push_back(1e6 * *seconds);
      ratios.push_back(times.back() / bare_times.back());
    }
  };
  CAPSTAN_RETURN_IF_ERROR((*job)->Run(CoordinatorOptions(), measure));
  CAPSTAN_RETURN_IF_ERROR(bare_status);
  report.Set("closures_per_second", Median(rates));
  report.Set("closure_rtt_us", Median(times));
  report.Set("bare_rtt_us", Median(bare_times));
  report.Set("closure_rtt_ratio", Median(ratios));
  report.PrintRow("null closures, 4 worker processes", "/s", Median(rates));
  report.PrintRow("one closure alone, and a bare socket", "us", Median(times),
                  Median(bare_times), Median(ratios));
  return absl::OkStatus();
}

absl::Status MeasureScaling(int rounds, Report& report) {
  const absl::StatusOr<double> few = RateOf(4, true, rounds);
  if (!few.ok()) return few.status();
  const absl::StatusOr<double> many = RateOf(64, true, rounds);
  if (!many.ok()) return many.status();
  report.Set("closures_per_second_4_threads", *few);
  report.Set("closures_per_second_64_threads", *many);
  report.Set("scaling_4_to_64", *many / *few);
  report.PrintRow("null closures, 64 workers beside 4", "/s", *many, *few,
                  *many / *few);
  return absl::OkStatus();
}

}  // namespace capstan

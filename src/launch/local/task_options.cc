#include "launch/local/task_options.h"

#include <utility>

#include "base/status.h"
#include "cluster/resolve.h"

namespace capstan {
namespace {

constexpr int kMaxSeconds = 7 * 24 * 3600;
constexpr int kMaxThreads = 1024;
constexpr int kMaxMegabytes = 1'000'000'000;

absl::Status ReadSeconds(const Environment& environment, const char* name,
                         Duration& value) {
  absl::StatusOr<std::optional<int>> seconds =
      NumberVariable(environment, name, 1, kMaxSeconds);
  if (!seconds.ok()) return seconds.status();
  if (*seconds) value = std::chrono::seconds(**seconds);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TaskOptions> ReadTaskOptions(const Environment& environment,
                                            ResolvedCluster cluster) {
  TaskOptions options;
  options.cluster = std::move(cluster);
  options.listen = environment.Get("CAPSTAN_LISTEN").value_or("");
  options.tls_directory = environment.Get("CAPSTAN_TLS").value_or("");
  options.token_file = environment.Get("CAPSTAN_TOKEN").value_or("");
  options.checkpoint_root =
      environment.Get("CAPSTAN_CHECKPOINT_DIR").value_or("");
  options.over_file = environment.Get("CAPSTAN_OVER_FILE").value_or("");
  absl::StatusOr<int> insecure = GivenOrVariable(
      std::nullopt, environment, "CAPSTAN_INSECURE_NETWORK", 0, 0, 1);
  if (!insecure.ok()) return insecure.status();
  options.insecure_network = *insecure == 1;
  if (auto level = environment.Get("CAPSTAN_LOG_LEVEL")) {
    absl::StatusOr<LogLevel> parsed = ParseLogLevel(*level);
    if (!parsed.ok()) {
      return WithContext(parsed.status(), "CAPSTAN_LOG_LEVEL");
    }
    options.log_level = *parsed;
  }
  absl::StatusOr<std::optional<int>> threads =
      NumberVariable(environment, "CAPSTAN_THREADS", 1, kMaxThreads);
  if (!threads.ok()) return threads.status();
  options.threads = threads->value_or(options.threads);
  absl::StatusOr<std::optional<int>> concurrency =
      NumberVariable(environment, "CAPSTAN_CONCURRENCY", 1, kMaxThreads);
  if (!concurrency.ok()) return concurrency.status();
  options.concurrency = concurrency->value_or(options.concurrency);
  absl::StatusOr<std::optional<int>> compute =
      NumberVariable(environment, "CAPSTAN_COMPUTE_THREADS", 1, kMaxThreads);
  if (!compute.ok()) return compute.status();
  options.compute_threads = compute->value_or(options.compute_threads);
  absl::StatusOr<std::optional<int>> megabytes =
      NumberVariable(environment, "CAPSTAN_MEMORY", 1, kMaxMegabytes);
  if (!megabytes.ok()) return megabytes.status();
  if (*megabytes) {
    options.memory_bytes = static_cast<uint64_t>(**megabytes) * kMegabyte;
  }
  CAPSTAN_RETURN_IF_ERROR(
      ReadSeconds(environment, "CAPSTAN_START_TIMEOUT", options.start_timeout));
  CAPSTAN_RETURN_IF_ERROR(ReadSeconds(environment, "CAPSTAN_RETURN_TIMEOUT",
                                      options.return_timeout));
  CAPSTAN_RETURN_IF_ERROR(
      ReadSeconds(environment, "CAPSTAN_TLS_RELOAD", options.tls_reload));
  return options;
}

}  // namespace capstan

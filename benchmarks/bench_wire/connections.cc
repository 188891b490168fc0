#include <unistd.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench_wire/calls.h"
#include "bench_wire/experiments.h"

namespace capstan {
namespace {

using SteadyClock = std::chrono::steady_clock;

// A round trip of 8 bytes. Returns the microseconds since `start`.
Task<absl::StatusOr<double>> TimeCall(Channel& channel,
                                      SteadyClock::time_point start) {
  std::byte from[8] = {};
  std::byte into[8];
  absl::Status status = co_await Echo(channel, from, into);
  if (!status.ok()) co_return status;
  const std::chrono::duration<double, std::micro> elapsed =
      SteadyClock::now() - start;
  co_return elapsed.count();
}

absl::StatusOr<double> ResidentBytes(int pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/statm"));
  uint64_t total = 0;
  uint64_t resident = 0;
  if (!(file >> total >> resident)) {
    return absl::UnavailableError(
        absl::StrCat("cannot read the memory of process ", pid));
  }
  return static_cast<double>(resident) *
         static_cast<double>(sysconf(_SC_PAGESIZE));
}

Task<absl::Status> OpenAndCall(WireClient& client, int count, int server_pid,
                               std::vector<std::unique_ptr<Channel>>& channels,
                               Connections& result) {
  absl::StatusOr<double> before = ResidentBytes(server_pid);
  if (!before.ok()) co_return before.status();
  for (int i = 0; i < count; ++i) {
    channels.push_back(client.NewChannel());
    const auto start = SteadyClock::now();
    absl::StatusOr<double> time = co_await TimeCall(*channels.back(), start);
    if (!time.ok()) co_return time.status();
  }
  for (const std::unique_ptr<Channel>& channel : channels) {
    const auto start = SteadyClock::now();
    absl::StatusOr<double> time = co_await TimeCall(*channel, start);
    if (!time.ok()) co_return time.status();
    result.last_calls.push_back(*time);
  }
  absl::StatusOr<double> after = ResidentBytes(server_pid);
  if (!after.ok()) co_return after.status();
  result.server_bytes_each = (*after - *before) / count;
  co_return absl::OkStatus();
}

}  // namespace

Task<absl::StatusOr<Latencies>> TimeFirstCalls(WireClient& client, int count) {
  Latencies latencies;
  for (int i = 0; i < count; ++i) {
    const auto start = SteadyClock::now();
    std::unique_ptr<Channel> channel = client.NewChannel();
    absl::StatusOr<double> time = co_await TimeCall(*channel, start);
    co_await CloseChannel(std::move(channel));
    if (!time.ok()) co_return time.status();
    latencies.push_back(*time);
  }
  co_return latencies;
}

Task<absl::StatusOr<Connections>> HoldConnections(WireClient& client, int count,
                                                  int server_pid) {
  std::vector<std::unique_ptr<Channel>> channels;
  Connections result;
  // The very first call makes the server do its one-time allocations.
  absl::StatusOr<Latencies> warm_up = co_await TimeFirstCalls(client, 1);
  absl::Status status = warm_up.status();
  if (status.ok()) {
    status = co_await OpenAndCall(client, count, server_pid, channels, result);
  }
  for (std::unique_ptr<Channel>& channel : channels) {
    co_await CloseChannel(std::move(channel));
  }
  if (!status.ok()) co_return status;
  co_return result;
}

}  // namespace capstan

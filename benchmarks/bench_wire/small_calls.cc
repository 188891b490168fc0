#include <chrono>
#include <memory>
#include <utility>

#include "base/async/event.h"
#include "base/status.h"
#include "bench_wire/calls.h"
#include "bench_wire/experiments.h"

namespace capstan {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr size_t kSmall = 4 << 10;
constexpr size_t kLarge = 64 << 20;

// Pulls repeatedly until told to stop.
struct Puller {
  explicit Puller(const Executor& executor) : ended(executor) {}

  Buffer memory;
  int pulls = 0;
  bool stop = false;
  absl::Status status;
  Event ended;
};

Task<> PullUntilStopped(Channel* channel, Puller* puller) {
  while (!puller->stop && puller->status.ok()) {
    const MutableBytes into = puller->memory.mutable_bytes();
    puller->status = co_await Pull(*channel, into);
    ++puller->pulls;
  }
  puller->ended.Set();
}

Task<absl::StatusOr<Latencies>> TimeEchoes(Channel& channel, int count) {
  std::vector<std::byte> from(kSmall, std::byte{1});
  std::vector<std::byte> into(kSmall);
  Latencies latencies;
  for (int i = 0; i < count; ++i) {
    const auto start = SteadyClock::now();
    absl::Status status = co_await Echo(channel, from, into);
    if (!status.ok()) co_return status;
    const std::chrono::duration<double, std::micro> elapsed =
        SteadyClock::now() - start;
    latencies.push_back(elapsed.count());
  }
  co_return latencies;
}

// Echoes while two pulls alternate, so that one is always in flight.
Task<absl::Status> TimeBehindLarge(Channel& channel, const Executor& executor,
                                   int count, SmallCalls& result) {
  Puller first(executor);
  Puller second(executor);
  for (Puller* puller : {&first, &second}) {
    absl::StatusOr<Buffer> memory = Buffer::Allocate(kLarge, Fill::kZero);
    if (!memory.ok()) co_return memory.status();
    puller->memory = *std::move(memory);
  }
  const auto start = SteadyClock::now();
  Spawn(executor, PullUntilStopped(&channel, &first));
  Spawn(executor, PullUntilStopped(&channel, &second));
  absl::StatusOr<Latencies> latencies = co_await TimeEchoes(channel, count);
  first.stop = second.stop = true;
  co_await first.ended.Wait();
  co_await second.ended.Wait();
  const std::chrono::duration<double> elapsed = SteadyClock::now() - start;
  CAPSTAN_CO_RETURN_IF_ERROR(first.status);
  CAPSTAN_CO_RETURN_IF_ERROR(second.status);
  if (!latencies.ok()) co_return latencies.status();
  result.behind_large = *std::move(latencies);
  result.large_gbps = static_cast<double>(first.pulls + second.pulls) * kLarge /
                      elapsed.count() / 1e9;
  co_return absl::OkStatus();
}

}  // namespace

Task<absl::StatusOr<SmallCalls>> TimeSmallCalls(WireClient& client, int count) {
  std::unique_ptr<Channel> channel = client.NewChannel();
  const Executor executor = client.executor();
  SmallCalls result;
  absl::StatusOr<Latencies> idle = co_await TimeEchoes(*channel, count);
  absl::Status status = idle.status();
  if (status.ok()) {
    result.idle = *std::move(idle);
    status = co_await TimeBehindLarge(*channel, executor, count, result);
  }
  co_await CloseChannel(std::move(channel));
  if (!status.ok()) co_return status;
  co_return result;
}

}  // namespace capstan

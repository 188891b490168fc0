#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench_store/experiments.h"
#include "bench_store/timing.h"
#include "harness/memory.h"

namespace capstan {
namespace {

constexpr size_t kVariables = 1'000;
constexpr uint64_t kSmallBytes = 4 << 10;
constexpr int kCount = 20;

Task<absl::StatusOr<double>> PullAll(StoreClient& store,
                                     std::vector<PullItem> items) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kCount; ++i) {
    absl::Status status = co_await store.client().Pull(items, ReadOptions());
    if (!status.ok()) co_return status;
  }
  const std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  co_return elapsed.count() / kCount;
}

}  // namespace

absl::Status MeasureManySmall(StoreClient& client, int rounds, Report& report) {
  std::vector<VariableSpec> specs(kVariables + 1);
  for (size_t i = 0; i < kVariables; ++i) {
    specs[i].name = absl::StrCat("small", i);
    specs[i].shape = {kSmallBytes / sizeof(float)};
  }
  specs[kVariables].name = "large";
  specs[kVariables].shape = {kVariables * kSmallBytes / sizeof(float)};
  CAPSTAN_RETURN_IF_ERROR(client.Create(specs));
  absl::StatusOr<Buffer> memory = TouchedMemory(kVariables * kSmallBytes);
  if (!memory.ok()) return memory.status();
  const MutableBytes all = memory->mutable_bytes();
  std::vector<PullItem> small(kVariables);
  for (size_t i = 0; i < kVariables; ++i) {
    small[i].variable = client.ids()[i];
    small[i].into = all.subspan(i * kSmallBytes, kSmallBytes);
  }
  std::vector<PullItem> large(1);
  large[0].variable = client.ids()[kVariables];
  large[0].into = all;
  const absl::StatusOr<SideBySide> times = TimeSideBySide(
      rounds, [&] { return client.Run(PullAll(client, small)); },
      [&] { return client.Run(PullAll(client, large)); });
  if (!times.ok()) return times.status();
  report.Set("many_small_us", times->ours * 1e6);
  report.Set("one_large_us", times->bare * 1e6);
  report.Set("many_small_ratio", 1 / times->ratio);
  report.PrintRow("1,000 x 4 KiB / one of 4 MB", "us", times->ours * 1e6,
                  times->bare * 1e6, 1 / times->ratio);
  return absl::OkStatus();
}

}  // namespace capstan

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench_store/experiments.h"
#include "bench_store/timing.h"
#include "harness/memory.h"

namespace capstan {
namespace {

struct Size {
  uint64_t bytes;
  int count;
  const char* name;
  const char* suffix;  // of the keys
};

constexpr Size kSizes[] = {{64 << 20, 4, "64 MiB", ""},
                           {1 << 20, 100, "1 MiB", "_1m"},
                           {4 << 10, 1'000, "4 KiB", "_4k"}};

Task<absl::StatusOr<double>> Pulls(StoreClient& store, uint32_t variable,
                                   MutableBytes into, int count) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) {
    PullItem item;
    item.variable = variable;
    item.into = into;
    absl::Status status =
        co_await store.client().Pull(std::span(&item, 1), ReadOptions());
    if (!status.ok()) co_return status;
  }
  const std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  co_return elapsed.count() / count;
}

Task<absl::StatusOr<double>> Pushes(StoreClient& store, uint32_t variable,
                                    Bytes gradient, int count) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) {
    DenseItem item;
    item.variable = variable;
    item.values = gradient;
    const UpdateId id = store.NextStep();
    absl::StatusOr<UpdateResult> summary = co_await store.client().Update(
        id, Operation::kGradient, std::span<const DenseItem>(&item, 1),
        std::span<const RowsItem>(), UpdateOptions());
    if (!summary.ok()) co_return summary.status();
  }
  const std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  co_return elapsed.count() / count;
}

double Gbps(uint64_t bytes, double seconds) {
  return static_cast<double>(bytes) / seconds / 1e9;
}

}  // namespace

absl::Status MeasureDense(StoreClient& client, Contender& bare, int rounds,
                          Report& report) {
  std::vector<VariableSpec> specs;
  for (const Size& size : kSizes) {
    VariableSpec& spec = specs.emplace_back();
    spec.name = size.name;
    spec.shape = {static_cast<int64_t>(size.bytes / sizeof(float))};
    spec.optimizer = Sgd{.learning_rate = 1e-3};
  }
  CAPSTAN_RETURN_IF_ERROR(client.Create(specs));
  absl::StatusOr<Buffer> memory = TouchedMemory(kSizes[0].bytes);
  if (!memory.ok()) return memory.status();
  for (size_t i = 0; i < std::size(kSizes); ++i) {
    const Size& size = kSizes[i];
    const uint32_t variable = client.ids()[i];
    const MutableBytes bytes = memory->mutable_bytes().first(size.bytes);
    for (const bool push : {false, true}) {
      const absl::StatusOr<SideBySide> times = TimeSideBySide(
          rounds,
          [&] {
            return push
                       ? client.Run(Pushes(client, variable, bytes, size.count))
                       : client.Run(Pulls(client, variable, bytes, size.count));
          },
          [&] {
            return bare.Run({push ? ExchangeKind::kPush : ExchangeKind::kPull,
                             size.bytes, size.count});
          });
      if (!times.ok()) return times.status();
      const std::string verb = push ? "push" : "pull";
      if (size.bytes <= 4 << 10) {
        // Reported as a ratio of times, because time matters here: ours / bare.
        const double ratio = 1 / times->ratio;
        report.Set(absl::StrCat("small_", verb, "_us"), times->ours * 1e6);
        report.Set(absl::StrCat("small_", verb, "_rtt_ratio"), ratio);
        report.PrintRow(absl::StrCat(size.name, " ", verb), "us",
                        times->ours * 1e6, times->bare * 1e6, ratio);
      } else {
        report.Set(absl::StrCat("dense_", verb, "_gbps", size.suffix),
                   Gbps(size.bytes, times->ours));
        report.Set(absl::StrCat("dense_", verb, size.suffix, "_ratio"),
                   times->ratio);
        report.PrintRow(absl::StrCat(size.name, " ", verb), "GB/s",
                        Gbps(size.bytes, times->ours),
                        Gbps(size.bytes, times->bare), times->ratio);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace capstan

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/async/event.h"
#include "base/random.h"
#include "bench_store/experiments.h"
#include "bench_store/timing.h"
#include "harness/memory.h"

namespace capstan {
namespace {

constexpr int64_t kColumns = 16;
constexpr size_t kRowBytes = kColumns * sizeof(float);
constexpr size_t kBatch = 13'312;
constexpr int kBatches = 24;   // with different ids, in one round
constexpr int kInFlight = 4;   // when several are in flight
constexpr size_t kAhead = 16;  // prefetched by the reference

using Ids = std::vector<int64_t>;

// New ids for each round: the same ones would be in the caches.
std::vector<Ids> MakeBatches(int64_t rows, Random& random) {
  std::vector<Ids> batches(kBatches, Ids(kBatch));
  for (Ids& ids : batches) {
    for (int64_t& id : ids) {
      id = static_cast<int64_t>(random.Below(static_cast<uint64_t>(rows)));
    }
  }
  return batches;
}

// The reference: one thread, with the table in this process, in ordinary memory
// (4 KiB pages).
double GatherHere(const std::vector<float>& table,
                  const std::vector<Ids>& batches, MutableBytes into) {
  const std::byte* rows = std::as_bytes(std::span(table)).data();
  return SecondsOf([&] {
    for (const Ids& ids : batches) {
      for (size_t i = 0; i < kBatch; ++i) {
        if (i + kAhead < kBatch) {
          __builtin_prefetch(rows +
                             static_cast<size_t>(ids[i + kAhead]) * kRowBytes);
        }
        std::memcpy(into.data() + i * kRowBytes,
                    rows + static_cast<size_t>(ids[i]) * kRowBytes, kRowBytes);
      }
      // Keeps the compiler from removing the copy.
      asm volatile("" : : "r"(into.data()) : "memory");
    }
  });
}

// Runs batches through the client, several at once.
class Pipeline {
 public:
  Pipeline(StoreClient& store, uint32_t variable, bool scatter,
           const std::vector<Ids>& batches, int in_flight, MutableBytes memory)
      : store_(store),
        variable_(variable),
        scatter_(scatter),
        batches_(batches),
        in_flight_(in_flight),
        memory_(memory) {}

  Task<absl::StatusOr<double>> Run() {
    done_.emplace(store_.executor());
    left_ = in_flight_;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < in_flight_; ++i) {
      Spawn(store_.executor(), RunOne(static_cast<size_t>(i)));
    }
    co_await done_->Wait();
    const std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - start;
    if (!status_.ok()) co_return status_;
    co_return elapsed.count();
  }

 private:
  Task<> RunOne(size_t lane) {
    const MutableBytes memory =
        memory_.subspan(lane * kBatch * kRowBytes, kBatch * kRowBytes);
    while (next_ < batches_.size() && status_.ok()) {
      const Ids& ids = batches_[next_++];
      absl::Status status = co_await RunBatch(ids, memory);
      if (!status.ok()) status_ = status;
    }
    if (--left_ == 0) done_->Set();
  }

  Task<absl::Status> RunBatch(const Ids& ids, MutableBytes memory) {
    if (scatter_) {
      RowsItem item;
      item.variable = variable_;
      item.ids = ids;
      item.values = memory;
      const UpdateId id = store_.NextStep();
      absl::StatusOr<UpdateResult> summary = co_await store_.client().Update(
          id, Operation::kGradient, std::span<const DenseItem>(),
          std::span<const RowsItem>(&item, 1), UpdateOptions());
      co_return summary.status();
    }
    GatherItem item;
    item.variable = variable_;
    item.ids = ids;
    item.into = memory;
    co_return co_await store_.client().Gather(std::span(&item, 1),
                                              ReadOptions());
  }

  StoreClient& store_;
  const uint32_t variable_;
  const bool scatter_;
  const std::vector<Ids>& batches_;
  const int in_flight_;
  const MutableBytes memory_;
  size_t next_ = 0;
  int left_ = 0;
  absl::Status status_;
  std::optional<Event> done_;
};

// One kind of access to one table.
absl::Status Measure(StoreClient& client, const std::string& key,
                     const std::string& name, uint32_t variable, bool scatter,
                     int in_flight, const std::vector<float>& table,
                     Buffer& memory, int rounds, Report& report) {
  const MutableBytes bytes = memory.mutable_bytes();
  const auto rows_of_table = static_cast<int64_t>(table.size() / kColumns);
  Random random(1);
  const absl::StatusOr<SideBySide> times = TimeSideBySide(
      rounds,
      [&] {
        const std::vector<Ids> batches = MakeBatches(rows_of_table, random);
        Pipeline pipeline(client, variable, scatter, batches, in_flight, bytes);
        return client.Run(pipeline.Run());
      },
      [&] {
        const std::vector<Ids> batches = MakeBatches(rows_of_table, random);
        return GatherHere(table, batches, bytes);
      });
  if (!times.ok()) return times.status();
  const double rows = static_cast<double>(kBatch) * kBatches / 1e6;
  report.Set(key + "_mrows", rows / times->ours);
  report.Set(key + "_here_mrows", rows / times->bare);
  report.Set(key + "_ratio", times->ratio);
  report.PrintRow(name, "Mrows/s", rows / times->ours, rows / times->bare,
                  times->ratio);
  return absl::OkStatus();
}

// All kinds of access to tables of `rows` rows; `prefix` is that of the keys.
absl::Status MeasureTables(StoreClient& client, int64_t rows,
                           const std::string& prefix, int rounds,
                           Report& report) {
  std::vector<VariableSpec> specs(2);
  specs[0].name = "sgd";
  specs[0].optimizer = Sgd{.learning_rate = 1e-3};
  specs[1].name = "adagrad";
  specs[1].optimizer = Adagrad{.learning_rate = 1e-3};
  for (VariableSpec& spec : specs) spec.shape = {rows, kColumns};
  CAPSTAN_RETURN_IF_ERROR(client.Create(specs));
  const std::vector<float> table(static_cast<size_t>(rows * kColumns), 1.0F);
  absl::StatusOr<Buffer> memory = TouchedMemory(kInFlight * kBatch * kRowBytes);
  if (!memory.ok()) return memory.status();
  struct Case {
    const char* key;
    const char* name;
    size_t variable;
    bool scatter;
    int in_flight;
  };
  // Of the scatters, Adagrad's is the one that counts.
  constexpr Case kCases[] = {
      {"gather", "gather", 0, false, 1},
      {"gather_pipelined", "gather, 4 at once", 0, false, kInFlight},
      {"scatter_sgd", "scatter, SGD", 0, true, 1},
      {"scatter_sgd_pipelined", "scatter, SGD, 4 at once", 0, true, kInFlight},
      {"scatter", "scatter, Adagrad", 1, true, 1},
      {"scatter_pipelined", "scatter, Adagrad, 4 at once", 1, true, kInFlight},
  };
  for (const Case& the_case : kCases) {
    CAPSTAN_RETURN_IF_ERROR(
        Measure(client, prefix + the_case.key, the_case.name,
                client.ids()[the_case.variable], the_case.scatter,
                the_case.in_flight, table, *memory, rounds, report));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureRows(StoreClient& client, int rounds, Report& report) {
  report.PrintHeader("rows, table of 4,000,000 x 16", "Capstan");
  CAPSTAN_RETURN_IF_ERROR(MeasureTables(client, 4'000'000, "", rounds, report));
  report.PrintHeader("rows, table of 100,000 x 16", "Capstan");
  return MeasureTables(client, 100'000, "small_table_", rounds, report);
}

}  // namespace capstan

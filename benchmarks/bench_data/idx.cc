#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "bench_data/experiments.h"
#include "bench_data/files.h"
#include "bench_store/timing.h"
#include "capstan/dataset.h"

namespace capstan {
namespace {

constexpr int kRows = 60'000;
constexpr std::size_t kImage = 28 * 28;
constexpr std::size_t kBatch = 64;
constexpr std::size_t kBatches = kRows / kBatch;

// Only copies random rows into batches.
void GatherBare(const std::string& images, const std::string& labels,
                const std::vector<std::size_t>& order) {
  for (std::size_t b = 0; b < kBatches; ++b) {
    Tensor x = Tensor::Uninitialized(DType::kU8, {kBatch, 28, 28});
    Tensor y = Tensor::Uninitialized(DType::kI64, {kBatch});
    const auto to = x.MutableValues<std::uint8_t>();
    const auto label = y.MutableValues<std::int64_t>();
    for (std::size_t i = 0; i < kBatch; ++i) {
      const std::size_t row = order[b * kBatch + i];
      std::memcpy(to.data() + i * kImage, images.data() + 16 + row * kImage,
                  kImage);
      label[i] = labels[8 + row];
    }
  }
}

}  // namespace

absl::Status MeasureIdx(const std::string& directory, int rounds,
                        Report& report) {
  const std::string images = IdxImages(kRows);
  const std::string labels = IdxLabels(kRows);
  WriteFile(directory + "/images", images);
  WriteFile(directory + "/labels", labels);
  std::vector<std::size_t> order(kRows);
  std::iota(order.begin(), order.end(), 0);
  Random random(5);
  for (std::size_t i = kRows; i > 1; --i) {
    std::swap(order[i - 1], order[random.Below(i)]);
  }
  const Dataset dataset =
      Dataset::Idx(directory + "/images", directory + "/labels")
          .Shuffle(10'000, {.seed = 1})
          .Batch(kBatch, {.drop_remainder = true});
  const ExampleTable table = ExampleTable::Open(dataset);
  const Timed bare = [&]() -> absl::StatusOr<double> {
    return SecondsOf([&] { GatherBare(images, labels, order); });
  };
  const Timed in_order = [&]() -> absl::StatusOr<double> {
    return SecondsOf([&] {
      const Dataset::Source next = dataset.Open();
      while (next()) {
      }
    });
  };
  std::uint64_t epoch = 0;
  const Timed by_number = [&]() -> absl::StatusOr<double> {
    ++epoch;
    return SecondsOf([&] {
      for (std::int64_t i = 0; i < table.size(); ++i) table.At(i, epoch);
    });
  };
  const std::pair<std::string, const Timed*> ways[] = {
      {"idx", &in_order}, {"idx_table", &by_number}};
  for (const auto& [name, ours] : ways) {
    const auto times = TimeSideBySide(rounds, *ours, bare);
    if (!times.ok()) return times.status();
    const double count = static_cast<double>(kBatches);
    report.Set(name + "_ratio", times->ratio);
    report.Set(name + "_batches_per_s", count / times->ours);
    report.Set("bare_" + name + "_batches_per_s", count / times->bare);
    report.PrintRow(name + "_ratio", "batches/s", count / times->ours,
                    count / times->bare, times->ratio);
  }
  return absl::OkStatus();
}

}  // namespace capstan

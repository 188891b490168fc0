#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench_store/experiments.h"
#include "bench_store/timing.h"
#include "harness/memory.h"
#include "optimizer/updater.h"

namespace capstan {
namespace {

// Large enough that an optimizer's arrays exceed the largest cache.
constexpr size_t kElements = 64 << 20;
constexpr uint64_t kBytes = kElements * sizeof(float);

struct Kernel {
  const char* name;
  Optimizer optimizer;
};

std::vector<Kernel> Kernels() {
  return {{"sgd", Sgd{}},
          {"momentum", Momentum{}},
          {"nesterov", Momentum{.nesterov = true}},
          {"adagrad", Adagrad{}},
          {"adadelta", Adadelta{}},
          {"rmsprop", RmsProp{}},
          {"rmsprop_centered", RmsProp{.momentum = 0.9, .centered = true}},
          {"adam", Adam{}},
          {"adam_amsgrad", Adam{.amsgrad = true}},
          {"adamw", AdamW{}},
          {"adamax", Adamax{}},
          {"nadam", Nadam{}},
          {"ftrl", Ftrl{}}};
}

// Arrays of floats, far larger than the caches.
class Arrays {
 public:
  static absl::StatusOr<Arrays> Make(size_t count) {
    Arrays arrays;
    for (size_t i = 0; i < count; ++i) {
      absl::StatusOr<Buffer> memory = TouchedMemory(kBytes);
      if (!memory.ok()) return memory.status();
      arrays.memory_.push_back(*std::move(memory));
      std::fill_n(arrays[i], kElements, 0.5F);
    }
    return arrays;
  }
  float* operator[](size_t i) {
    return reinterpret_cast<float*>(memory_[i].data());
  }

 private:
  std::vector<Buffer> memory_;
};

// The memory's speed, in bytes per second: the best of the STREAM loops and of
// updates in place of one array and of three. Counts the bytes that the loops
// name (a write counts once).
double MemoryBytesPerSecond(Arrays& arrays) {
  float* __restrict a = arrays[0];
  float* __restrict b = arrays[1];
  float* __restrict c = arrays[2];
  const float* __restrict d = arrays[3];
  const double copy = SecondsOf([&] {
    std::memcpy(a, b, kBytes);
    asm volatile("" : : "r"(a) : "memory");
  });
  const double triad = SecondsOf([&] {
    for (size_t i = 0; i < kElements; ++i) a[i] = b[i] + 0.5F * c[i];
    asm volatile("" : : "r"(a) : "memory");
  });
  const double update = SecondsOf([&] {
    for (size_t i = 0; i < kElements; ++i) a[i] += 0.5F * b[i];
    asm volatile("" : : "r"(a) : "memory");
  });
  const double three = SecondsOf([&] {
    for (size_t i = 0; i < kElements; ++i) {
      a[i] += 0.5F * d[i];
      b[i] += 0.5F * d[i];
      c[i] += 0.5F * d[i];
    }
    asm volatile("" : : "r"(a), "r"(b), "r"(c) : "memory");
  });
  const auto bytes = static_cast<double>(kBytes);
  return std::max({2 * bytes / copy, 3 * bytes / triad, 3 * bytes / update,
                   7 * bytes / three});
}

absl::Status MeasureOne(const Kernel& kernel, Arrays& arrays, int rounds,
                        Report& report) {
  const absl::StatusOr<std::unique_ptr<const Updater>> updater =
      Updater::Make(kernel.optimizer);
  if (!updater.ok()) return updater.status();
  const size_t slots = (*updater)->slots().size();
  DenseUpdate update;
  update.gradient = reinterpret_cast<const std::byte*>(arrays[0]);
  update.size = kElements;
  update.value_out = arrays[1];
  update.value_in = arrays[1];
  for (size_t i = 0; i < slots; ++i) {
    update.slots_out[i] = arrays[2 + i];
    update.slots_in[i] = arrays[2 + i];
  }
  // Reads the gradient; reads and writes the values and the slots.
  const auto bytes =
      static_cast<double>(kBytes) * static_cast<double>(1 + 2 * (1 + slots));
  OptimizerState state;
  const absl::StatusOr<SideBySide> times = TimeSideBySide(
      rounds,
      [&]() -> absl::StatusOr<double> {
        const UpdateStep step = (*updater)->Begin(state, 1.0, 0);
        const double seconds =
            SecondsOf([&] { (*updater)->Dense(step, update); });
        (*updater)->Advance(state);
        return seconds;
      },
      [&]() -> absl::StatusOr<double> {
        return bytes / MemoryBytesPerSecond(arrays);
      });
  if (!times.ok()) return times.status();
  report.Set(absl::StrCat("kernel_bandwidth_ratio.", kernel.name),
             times->ratio);
  report.PrintRow(kernel.name, "GB/s", bytes / times->ours / 1e9,
                  bytes / times->bare / 1e9, times->ratio);
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureKernels(int rounds, Report& report) {
  report.PrintHeader("dense updates, one thread, 256 MiB arrays", "Capstan");
  absl::StatusOr<Arrays> arrays = Arrays::Make(2 + kMaxSlots);
  if (!arrays.ok()) return arrays.status();
  for (const Kernel& kernel : Kernels()) {
    CAPSTAN_RETURN_IF_ERROR(MeasureOne(kernel, *arrays, rounds, report));
  }
  return absl::OkStatus();
}

}  // namespace capstan

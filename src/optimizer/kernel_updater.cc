#include "optimizer/kernel_updater.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <variant>

#include "hwy/cache_control.h"
#include "optimizer/flush_subnormals.h"
#include "optimizer/learning_rate.h"
#include "optimizer/row_copy.h"
#include "optimizer/row_set.h"
#include "optimizer/widen.h"

namespace capstan {
namespace {

// Gradients are widened, and narrow rows packed, in blocks of this many
// elements: together with the slots they stay in the first-level cache.
constexpr size_t kBlock = 1024;

// From this many elements on, an array is assumed to exceed the caches.
constexpr size_t kLarge = size_t{1} << 15;

// A multiple of every vector size.
constexpr size_t kVector = 16;

constexpr std::array<float, kBlock> kZeroes{};

const std::byte* ElementAt(const std::byte* data, DType dtype, size_t index) {
  return data + index * SizeOf(dtype);
}

const float* Floats(const std::byte* data) {
  return reinterpret_cast<const float*>(data);
}

}  // namespace

KernelUpdater::KernelUpdater(const Optimizer& optimizer, Kernel kernel,
                             std::vector<SlotInfo> slots,
                             RowMoments row_moments)
    : kernel_(kernel),
      slots_(std::move(slots)),
      learning_rate_(std::visit(
          [](const auto& rule) { return rule.learning_rate; }, optimizer.rule)),
      row_moments_(row_moments),
      clip_(optimizer.clip_value > 0 ? static_cast<float>(optimizer.clip_value)
                                     : std::numeric_limits<float>::infinity()),
      weight_decay_(static_cast<float>(optimizer.weight_decay)),
      staleness_power_(optimizer.staleness_power) {}

UpdateStep KernelUpdater::Begin(const OptimizerState& state,
                                double gradient_scale,
                                uint64_t staleness) const {
  double rate = LearningRateAt(learning_rate_, state.updates);
  rate /= std::pow(1 + static_cast<double>(staleness), staleness_power_);
  return {.scalars = Prepare(state, rate),
          .gradient_scale = static_cast<float>(gradient_scale)};
}

void KernelUpdater::Advance(OptimizerState& state) const { ++state.updates; }

KernelCall KernelUpdater::CallFor(const UpdateStep& step) const {
  KernelCall call;
  call.gradient_steps = {.scale = step.gradient_scale,
                         .clip = clip_,
                         .weight_decay = weight_decay_};
  call.scalars = &step.scalars;
  return call;
}

void KernelUpdater::Dense(const UpdateStep& step,
                          const DenseUpdate& update) const {
  const FlushSubnormals flush;
  KernelCall call = CallFor(step);
  call.past_caches = update.size >= kLarge;
  DensePiece(call, update);
  if (call.past_caches) hwy::FlushStream();
}

void KernelUpdater::DensePiece(KernelCall call,
                               const DenseUpdate& update) const {
  if (update.gradient_dtype != DType::kF32) return WidenedPiece(call, update);
  call.gradient = Floats(update.gradient);
  call.size = update.size;
  call.value_in = update.value_in;
  call.value_out = update.value_out;
  call.slots_in = update.slots_in;
  call.slots_out = update.slots_out;
  kernel_(call);
}

// Separate from DensePiece, since the compiler clears the block on entry.
void KernelUpdater::WidenedPiece(KernelCall call,
                                 const DenseUpdate& update) const {
  std::array<float, kBlock> widened;
  call.gradient = widened.data();
  for (size_t i = 0; i < update.size; i += kBlock) {
    call.size = std::min(kBlock, update.size - i);
    Widen(update.gradient_dtype,
          ElementAt(update.gradient, update.gradient_dtype, i), call.size,
          widened.data());
    call.value_in = update.value_in + i;
    call.value_out = update.value_out + i;
    for (size_t s = 0; s < slots_.size(); ++s) {
      call.slots_in[s] = update.slots_in[s] + i;
      call.slots_out[s] = update.slots_out[s] + i;
    }
    kernel_(call);
  }
}

void KernelUpdater::Rows(const UpdateStep& step,
                         const RowsUpdate& update) const {
  if (update.row_size == 0) return;
  const FlushSubnormals flush;
  TouchedRows(step, update);
  if (row_moments_ == RowMoments::kExact) UntouchedRows(step, update);
}

void KernelUpdater::TouchedRows(const UpdateStep& step,
                                const RowsUpdate& update) const {
  if (update.row_size > kBlock / 4) {
    LongRows(step, update);
  } else if (update.row_size % kVector == 0) {
    WholeVectorRows(step, update);
  } else {
    PackedRows(step, update);
  }
}

void KernelUpdater::LongRows(const UpdateStep& step,
                             const RowsUpdate& update) const {
  KernelCall call = CallFor(step);
  DenseUpdate row = {.gradient_dtype = update.gradient_dtype,
                     .size = update.row_size};
  for (size_t i = 0; i < update.rows.size(); ++i) {
    const size_t offset = update.rows[i] * update.row_size;
    row.gradient =
        ElementAt(update.gradients, update.gradient_dtype, i * update.row_size);
    row.value_in = row.value_out = update.values + offset;
    for (size_t s = 0; s < slots_.size(); ++s) {
      row.slots_in[s] = row.slots_out[s] = update.slots[s] + offset;
    }
    DensePiece(call, row);
  }
}

void KernelUpdater::WholeVectorRows(const UpdateStep& step,
                                    const RowsUpdate& update) const {
  KernelCall call = CallFor(step);
  call.size = update.row_size;
  call.value_in = call.value_out = update.values;
  for (size_t s = 0; s < slots_.size(); ++s) {
    call.slots_in[s] = call.slots_out[s] = update.slots[s];
  }
  const bool widen = update.gradient_dtype != DType::kF32;
  const size_t num_rows = update.rows.size();
  const size_t block =
      widen ? kBlock / update.row_size : std::max<size_t>(num_rows, 1);
  std::array<float, kBlock> widened;
  for (size_t i = 0; i < num_rows; i += block) {
    call.rows = update.rows.data() + i;
    call.num_rows = std::min(block, num_rows - i);
    call.num_rows_ahead = num_rows - i;
    const std::byte* gradients =
        ElementAt(update.gradients, update.gradient_dtype, i * update.row_size);
    if (widen) {
      Widen(update.gradient_dtype, gradients, call.num_rows * update.row_size,
            widened.data());
    }
    call.gradient = widen ? widened.data() : Floats(gradients);
    kernel_(call);
  }
}

// The gradients of consecutive rows are contiguous: with values and slots
// packed the same way, one dense call processes many rows.
void KernelUpdater::PackedRows(const UpdateStep& step,
                               const RowsUpdate& update) const {
  const size_t size = update.row_size;
  KernelCall call = CallFor(step);
  std::array<std::array<float, kBlock>, 1 + kMaxSlots> packed;
  DenseUpdate dense = {.gradient_dtype = update.gradient_dtype};
  dense.value_in = dense.value_out = packed[0].data();
  for (size_t s = 0; s < slots_.size(); ++s) {
    dense.slots_in[s] = dense.slots_out[s] = packed[s + 1].data();
  }
  const size_t block = kBlock / size;
  for (size_t begin = 0; begin < update.rows.size(); begin += block) {
    const std::span<const uint32_t> ahead = update.rows.subspan(begin);
    const std::span<const uint32_t> rows =
        ahead.first(std::min(block, ahead.size()));
    GatherRows(update.values, ahead, rows.size(), size, packed[0].data());
    for (size_t s = 0; s < slots_.size(); ++s) {
      GatherRows(update.slots[s], ahead, rows.size(), size,
                 packed[s + 1].data());
    }
    dense.gradient =
        ElementAt(update.gradients, update.gradient_dtype, begin * size);
    dense.size = rows.size() * size;
    DensePiece(call, dense);
    ScatterRows(packed[0].data(), rows, size, update.values);
    for (size_t s = 0; s < slots_.size(); ++s) {
      ScatterRows(packed[s + 1].data(), rows, size, update.slots[s]);
    }
  }
}

void KernelUpdater::UntouchedRows(const UpdateStep& step,
                                  const RowsUpdate& update) const {
  for (size_t first = 0; first < update.num_rows; first += RowSet::kCapacity) {
    const size_t count = std::min(RowSet::kCapacity, update.num_rows - first);
    RowSet touched;
    for (size_t row : update.rows) {
      if (row >= first && row - first < count) touched.Insert(row - first);
    }
    for (size_t row = 0; row < count;) {
      const size_t begin = touched.FindNotIn(row, count);
      row = touched.FindIn(begin, count);
      ZeroGradient(step, update, first + begin, first + row);
    }
  }
}

void KernelUpdater::ZeroGradient(const UpdateStep& step,
                                 const RowsUpdate& update, size_t begin_row,
                                 size_t end_row) const {
  KernelCall call = CallFor(step);
  call.gradient = kZeroes.data();
  const size_t end = end_row * update.row_size;
  for (size_t i = begin_row * update.row_size; i < end; i += call.size) {
    call.size = std::min(kBlock, end - i);
    call.value_in = call.value_out = update.values + i;
    for (size_t s = 0; s < slots_.size(); ++s) {
      call.slots_in[s] = call.slots_out[s] = update.slots[s] + i;
    }
    kernel_(call);
  }
}

}  // namespace capstan

// An optimizer ready to be applied: its parameters are checked, its kernel
// chosen for this processor. Pure arithmetic on memory that the caller guards:
// no locks, no I/O, no allocation during an update.
//
// An update of a shard is Begin, then either Dense over the shard, at once or
// in pieces in any order, or Rows once; then Advance. However the update is
// split or laid out in memory, and on any processor, an element's result is the
// same bit for bit; a row's result is that of a dense update.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/status.h"
#include "capstan/optimizer.h"
#include "capstan/tensor.h"
#include "optimizer/rule_scalars.h"

namespace capstan {

inline constexpr size_t kMaxSlots = 3;

// A slot is an array of f32 as large as the shard.
struct SlotInfo {
  std::string_view name;  // "momentum", as in a checkpoint
  float initial = 0;
};

// Per-shard state besides the slots; saved with them.
struct OptimizerState {
  uint64_t updates = 0;         // how many the shard has had
  double momentum_product = 1;  // Nadam's
  friend bool operator==(const OptimizerState&,
                         const OptimizerState&) = default;
};

// Shared by all elements of one update.
struct UpdateStep {
  RuleScalars scalars{};  // of the updater's rule
  float gradient_scale = 1;
};

// Elements [0, size) of a piece. An `in` array may be the same as its `out`,
// but must not overlap it otherwise; no alignment is needed beyond the type's.
struct DenseUpdate {
  DType gradient_dtype = DType::kF32;  // f32, f16 or bf16
  const std::byte* gradient = nullptr;
  size_t size = 0;
  const float* value_in = nullptr;
  float* value_out = nullptr;
  std::array<const float*, kMaxSlots> slots_in{};
  std::array<float*, kMaxSlots> slots_out{};
};

// Row `rows[i]` gets gradient i. The rows must be in range and distinct.
struct RowsUpdate {
  DType gradient_dtype = DType::kF32;
  const std::byte* gradients = nullptr;  // rows.size() * row_size elements
  std::span<const uint32_t> rows;
  size_t row_size = 0;
  size_t num_rows = 0;  // of the shard
  float* values = nullptr;
  std::array<float*, kMaxSlots> slots{};
};

// Immutable; thread-safe.
class Updater {
 public:
  // InvalidArgument, naming the field and its value, if a parameter makes no
  // sense (a negative learning rate, a beta of 1, a NaN, steps of 0, ...).
  static absl::StatusOr<std::unique_ptr<const Updater>> Make(
      const Optimizer& optimizer);
  virtual ~Updater() = default;

  virtual std::span<const SlotInfo> slots() const = 0;

  // Begins the next update of a shard in `state`: gradients are multiplied by
  // `gradient_scale` and were computed from values that are `staleness` updates
  // old.
  virtual UpdateStep Begin(const OptimizerState& state, double gradient_scale,
                           uint64_t staleness) const = 0;
  virtual void Dense(const UpdateStep& step,
                     const DenseUpdate& update) const = 0;
  virtual void Rows(const UpdateStep& step, const RowsUpdate& update) const = 0;
  // Call after each update.
  virtual void Advance(OptimizerState& state) const = 0;
};

}  // namespace capstan

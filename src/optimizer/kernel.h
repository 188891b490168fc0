// What a kernel is given: one rule applied to arrays of f32. A kernel is the
// same function compiled for several instruction sets; kernel.inc has the
// loops, and the file of each optimizer its arithmetic.
//
// An element's result depends on that element's inputs alone, bit by bit: not
// on its position, nor the size or alignment of the arrays, nor the processor.
// Hence no fused multiply-add and no approximate reciprocal, and a tail goes
// through the same instructions as the rest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "optimizer/rule_scalars.h"
#include "optimizer/updater.h"

namespace capstan {

// What happens to a gradient before the rule sees it, in this order.
struct GradientSteps {
  float scale = 1;         // multiplied by this
  float clip = 0;          // clamped to [-clip, clip]; infinity: not
  float weight_decay = 0;  // this times the value added; 0: not
};

// Elements [0, size), or those of the rows. Memory as for DenseUpdate.
struct KernelCall {
  GradientSteps gradient_steps;
  const RuleScalars* scalars = nullptr;  // those of UpdateStep
  const float* gradient = nullptr;
  const float* value_in = nullptr;
  float* value_out = nullptr;
  std::array<const float*, kMaxSlots> slots_in{};
  std::array<float*, kMaxSlots> slots_out{};
  size_t size = 0;  // of the arrays, or of a row

  // For a dense update of arrays larger than the caches: results that go to
  // other memory than they came from are written past them. Else each line
  // would be read before it is overwritten, and an update take up to twice as
  // long. Other threads see them after hwy::FlushStream.
  bool past_caches = false;

  // Null for a dense update. Else gradient i * size and on is for the elements
  // rows[i] * size and on, for each i below num_rows, and the rows up to
  // rows[num_rows_ahead - 1] are those that will come next.
  const uint32_t* rows = nullptr;
  size_t num_rows = 0;
  size_t num_rows_ahead = 0;
};

using Kernel = void (*)(const KernelCall& call);

}  // namespace capstan

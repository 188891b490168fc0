// The input of a kernel: one rule applied to arrays of f32. A kernel is the
// same function compiled for several instruction sets; kernel.inc has the
// loops, and each optimizer's file its arithmetic.
//
// An element's result depends only on that element's inputs, bit for bit: not
// on its position, the size or alignment of the arrays, or the processor. So
// kernels use no fused multiply-add and no approximate reciprocal, and a tail
// goes through the same instructions as the rest.
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
  float clip = 0;          // clamped to [-clip, clip]; infinity: no clipping
  float weight_decay = 0;  // adds this times the value; 0: none
};

// Elements [0, size), or the elements of `rows`. Memory as for DenseUpdate.
struct KernelCall {
  GradientSteps gradient_steps;
  const RuleScalars* scalars = nullptr;  // from UpdateStep
  const float* gradient = nullptr;
  const float* value_in = nullptr;
  float* value_out = nullptr;
  std::array<const float*, kMaxSlots> slots_in{};
  std::array<float*, kMaxSlots> slots_out{};
  size_t size = 0;  // of the arrays, or of a row

  // For a dense update of arrays larger than the caches: results written to
  // other memory than the inputs bypass the caches. Otherwise each line would
  // be read before it is overwritten, and an update could take up to twice as
  // long. Other threads see the results after hwy::FlushStream.
  bool past_caches = false;

  // Null for a dense update. Otherwise the gradient from i * size on is for the
  // elements from rows[i] * size on, for each i below num_rows; the rows up to
  // rows[num_rows_ahead - 1] come next and may be prefetched.
  const uint32_t* rows = nullptr;
  size_t num_rows = 0;
  size_t num_rows_ahead = 0;
};

using Kernel = void (*)(const KernelCall& call);

}  // namespace capstan

// The arguments of the workload's closures, and their results.
#pragma once

#include <cstddef>
#include <cstdint>

#include "capstan/dataset.h"
#include "capstan/function.h"

namespace capstan::simulate {

enum class ClosureKind : uint8_t {
  kStep,       // reads, computes, updates
  kEvaluate,   // reads
  kFailEarly,  // fails before its update
  kFailLate,   // fails after its first update
  kPoison,     // kills its worker
};

struct ClosureCall {
  size_t number = 0;  // never reused, and so is its digit
  ClosureKind kind = ClosureKind::kStep;
  DataRange range;
};

// The functions, in the order in which workers register them.
inline constexpr uint32_t kStepFunction = 0;
inline constexpr uint32_t kEvaluateFunction = 1;
FunctionInfo InfoOf(uint32_t function);

// Some also carry a tensor.
EncodedValue EncodeCall(const ClosureCall& call);
// The call without its tensor. Throws if `value` is not a call.
ClosureCall DecodeCall(const EncodedValue& value);
// Whether the tensor is as it was encoded.
bool TensorIsRight(const EncodedValue& value);

// What the function returns, and whether `value` equals it.
EncodedValue ResultOf(const ClosureCall& call);
bool IsResultOf(const ClosureCall& call, const EncodedValue& value);
// The number in a result, to be summed. Throws if `value` is not a result.
uint64_t NumberIn(const EncodedValue& value);

}  // namespace capstan::simulate

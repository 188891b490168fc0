// What the closures of the workload are called with, and what they return.
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
  kPoison,     // takes down its worker
};

struct ClosureCall {
  size_t number = 0;  // of its own for ever, and so its digit
  ClosureKind kind = ClosureKind::kStep;
  DataRange range;
};

// The functions, in the order in which workers have them.
inline constexpr uint32_t kStepFunction = 0;
inline constexpr uint32_t kEvaluateFunction = 1;
FunctionInfo InfoOf(uint32_t function);

// Some have a tensor, too.
EncodedValue EncodeCall(const ClosureCall& call);
// The call without its tensor. Throws if `value` is none.
ClosureCall DecodeCall(const EncodedValue& value);
// Whether the tensor is as it was written.
bool TensorIsRight(const EncodedValue& value);

// What the function returns, and whether `value` is that.
EncodedValue ResultOf(const ClosureCall& call);
bool IsResultOf(const ClosureCall& call, const EncodedValue& value);
// The number that a result has, to be added up. Throws if `value` is none.
uint64_t NumberIn(const EncodedValue& value);

}  // namespace capstan::simulate

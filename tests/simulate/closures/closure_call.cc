#include "simulate/closures/closure_call.h"

#include <algorithm>
#include <array>

#include "capstan/error.h"

namespace capstan::simulate {
namespace {

// Every third call and every fourth result carries a tensor.
constexpr size_t kCallsPerTensor = 3;
constexpr size_t kResultsPerTensor = 4;

std::array<int64_t, 3> NumbersOf(const ClosureCall& call) {
  return {static_cast<int64_t>(call.number), call.range.begin, call.range.end};
}

Tensor TensorOf(const ClosureCall& call) {
  return Tensor::FromValues({3}, NumbersOf(call));
}

bool IsTensorOf(const ClosureCall& call, const Tensor& tensor) {
  return tensor.dtype() == DType::kI64 && tensor.shape() == Shape{3} &&
         std::ranges::equal(tensor.Values<int64_t>(), NumbersOf(call));
}

ClosureCall ReadCall(ValueReader& reader) {
  ClosureCall call;
  call.number = reader.Unsigned();
  call.kind = static_cast<ClosureKind>(reader.Unsigned());
  call.range = Type<DataRange>::Read(reader);
  return call;
}

uint64_t HashOf(const ClosureCall& call) {
  return call.number * 1'000'003 + static_cast<uint64_t>(call.range.begin);
}

}  // namespace

FunctionInfo InfoOf(uint32_t function) {
  FunctionInfo info;
  info.name = function == kStepFunction ? "step" : "evaluate";
  info.signature = "u64(u64, u64, range, optional<tensor>)";
  info.options.reads_only = function == kEvaluateFunction;
  return info;
}

EncodedValue EncodeCall(const ClosureCall& call) {
  ValueWriter writer;
  writer.Unsigned(call.number);
  writer.Unsigned(static_cast<uint64_t>(call.kind));
  Type<DataRange>::Write(writer, call.range);
  if (call.number % kCallsPerTensor == 0) {
    writer.Put(TensorOf(call));
  } else {
    writer.Absent();
  }
  return writer.Take();
}

ClosureCall DecodeCall(const EncodedValue& value) {
  ValueReader reader(value);
  return ReadCall(reader);
}

bool TensorIsRight(const EncodedValue& value) {
  try {
    ValueReader reader(value);
    const ClosureCall call = ReadCall(reader);
    if (call.number % kCallsPerTensor != 0) return reader.Absent();
    return IsTensorOf(call, reader.Get());
  } catch (const Error&) {
    return false;
  }
}

EncodedValue ResultOf(const ClosureCall& call) {
  ValueWriter writer;
  writer.Unsigned(HashOf(call));
  if (call.number % kResultsPerTensor == 0) writer.Put(TensorOf(call));
  return writer.Take();
}

bool IsResultOf(const ClosureCall& call, const EncodedValue& value) {
  try {
    ValueReader reader(value);
    if (reader.Unsigned() != HashOf(call)) return false;
    if (call.number % kResultsPerTensor == 0 &&
        !IsTensorOf(call, reader.Get())) {
      return false;
    }
    reader.End();
    return true;
  } catch (const Error&) {
    return false;
  }
}

uint64_t NumberIn(const EncodedValue& value) {
  ValueReader reader(value);
  return reader.Unsigned();
}

}  // namespace capstan::simulate

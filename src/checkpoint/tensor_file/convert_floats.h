// Converting tensors between floating-point types: f64, f32, f16 and bf16,
// rounded to nearest, ties to even.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "base/bytes.h"
#include "capstan/tensor.h"
#include "checkpoint/tensor_file/tensor_source.h"

namespace capstan {

bool IsFloat(DType dtype);

// Writes the elements of `from` to `to`, which has room for as many; any
// alignment. Infinities and NaNs stay infinities and NaNs. OutOfRange, naming
// the value, for a finite one that would become infinite: that is damage, not
// rounding. Pure; both dtypes must be floats.
absl::Status ConvertFloats(DType from_type, Bytes from, DType to_type,
                           MutableBytes to);

// Wraps a source and converts some of its tensors to another dtype. Must not
// outlive the source.
class ConvertedTensors final : public TensorSource {
 public:
  struct Conversion {
    DType from = DType::kF32;
    DType to = DType::kF32;
  };
  // By tensor name; other tensors stay as they are.
  using Conversions = std::map<std::string, Conversion, std::less<>>;

  ConvertedTensors(const TensorSource& source, Conversions conversions)
      : source_(source), conversions_(std::move(conversions)) {}

  // Fails like the source or ConvertFloats.
  absl::Status Read(std::string_view tensor, const Take& take) const override;

 private:
  const TensorSource& source_;
  const Conversions conversions_;
};

}  // namespace capstan

// Floating-point tensors as another floating type: f64, f32, f16 and bf16 to
// one another, rounded to nearest, ties to even.
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

// Writes the elements of `from` to `to`, which has room for as many; of any
// alignment. Infinities and NaNs stay what they are. OutOfRange, naming it, for
// a finite value that would become infinite: that is damage, not rounding.
// Pure; both dtypes are floats.
absl::Status ConvertFloats(DType from_type, Bytes from, DType to_type,
                           MutableBytes to);

// A source, some of whose tensors have another dtype. Must not outlive it.
class ConvertedTensors final : public TensorSource {
 public:
  struct Conversion {
    DType from = DType::kF32;
    DType to = DType::kF32;
  };
  // By the names of the tensors; others stay as they are.
  using Conversions = std::map<std::string, Conversion, std::less<>>;

  ConvertedTensors(const TensorSource& source, Conversions conversions)
      : source_(source), conversions_(std::move(conversions)) {}

  // Besides the errors of the source those of ConvertFloats.
  absl::Status Read(std::string_view tensor, const Take& take) const override;

 private:
  const TensorSource& source_;
  const Conversions conversions_;
};

}  // namespace capstan

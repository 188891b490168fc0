#include "checkpoint/diff.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "checkpoint/export.h"
#include "checkpoint/variable_stream.h"
#include "tensor/view.h"

namespace capstan {
namespace {

constexpr size_t kDiffPieceBytes = size_t{1} << 20;

template <typename T>
void CompareAs(Bytes a, Bytes b, TensorDiff& diff) {
  for (size_t at = 0; at < a.size(); at += sizeof(T)) {
    if (std::memcmp(a.data() + at, b.data() + at, sizeof(T)) == 0) continue;
    T x;
    T y;
    std::memcpy(&x, a.data() + at, sizeof(T));
    std::memcpy(&y, b.data() + at, sizeof(T));
    ++diff.different;
    double distance = 0;
    if constexpr (std::is_arithmetic_v<T>) {
      distance = static_cast<double>(x) - static_cast<double>(y);
    } else {
      distance = static_cast<double>(static_cast<float>(x)) -
                 static_cast<double>(static_cast<float>(y));
    }
    // A NaN stays: no comparison with it is true.
    if (std::isnan(distance) || std::abs(distance) > diff.largest) {
      diff.largest = std::abs(distance);
    }
  }
}

void Compare(DType dtype, Bytes a, Bytes b, TensorDiff& diff) {
  switch (dtype) {
    case DType::kF32:
      CompareAs<float>(a, b, diff);
      break;
    case DType::kF64:
      CompareAs<double>(a, b, diff);
      break;
    case DType::kF16:
      CompareAs<Float16>(a, b, diff);
      break;
    case DType::kBF16:
      CompareAs<BFloat16>(a, b, diff);
      break;
    case DType::kI32:
      CompareAs<int32_t>(a, b, diff);
      break;
    case DType::kI64:
      CompareAs<int64_t>(a, b, diff);
      break;
    case DType::kU8:
    case DType::kBool:
      CompareAs<uint8_t>(a, b, diff);
      break;
  }
}

absl::Status CompareStreams(VariableStream first, VariableStream second,
                            DType dtype, TensorDiff& diff) {
  std::vector<std::byte> a(kDiffPieceBytes);
  std::vector<std::byte> b(kDiffPieceBytes);
  while (true) {
    const absl::StatusOr<size_t> got = first.Next(a);
    CAPSTAN_RETURN_IF_ERROR(got.status());
    const absl::StatusOr<size_t> other = second.Next(b);
    CAPSTAN_RETURN_IF_ERROR(other.status());
    if (*got == 0) return absl::OkStatus();
    Compare(dtype, Bytes(a).first(*got), Bytes(b).first(*got), diff);
  }
}

}  // namespace

bool CheckpointDiff::empty() const {
  return only_first.empty() && only_second.empty() && other_types.empty() &&
         std::all_of(tensors.begin(), tensors.end(),
                     [](const TensorDiff& t) { return t.different == 0; });
}

absl::StatusOr<CheckpointDiff> DiffCheckpoints(const DiffSide& first,
                                               const DiffSide& second,
                                               bool slots) {
  const auto a = ListExported(*first.manifest, {.slots = slots});
  const auto b = ListExported(*second.manifest, {.slots = slots});
  CAPSTAN_RETURN_IF_ERROR(a.status());
  CAPSTAN_RETURN_IF_ERROR(b.status());
  const auto files_a =
      OpenFiles::Open(*first.files, first.path, *first.manifest);
  const auto files_b =
      OpenFiles::Open(*second.files, second.path, *second.manifest);
  CAPSTAN_RETURN_IF_ERROR(files_a.status());
  CAPSTAN_RETURN_IF_ERROR(files_b.status());
  std::map<std::string_view, const ExportedTensor*> others;
  for (const ExportedTensor& tensor : *b) others[tensor.name] = &tensor;
  CheckpointDiff diff;
  for (const ExportedTensor& x : *a) {
    const auto found = others.find(x.name);
    if (found == others.end()) {
      diff.only_first.push_back(x.name);
      continue;
    }
    const ExportedTensor& y = *found->second;
    others.erase(found);
    const Shape& shape = x.variable->shape;
    if (x.dtype != y.dtype || shape != y.variable->shape) {
      diff.other_types.push_back(
          absl::StrCat(x.name, ": ", Describe(x.dtype, shape), " and ",
                       Describe(y.dtype, y.variable->shape)));
      continue;
    }
    TensorDiff tensor;
    tensor.name = x.name;
    tensor.elements = static_cast<uint64_t>(shape.num_elements());
    CAPSTAN_RETURN_IF_ERROR(CompareStreams(
        VariableStream(*files_a, *x.variable, x.slot),
        VariableStream(*files_b, *y.variable, y.slot), x.dtype, tensor));
    diff.tensors.push_back(tensor);
  }
  for (const auto& [name, tensor] : others) {
    diff.only_second.emplace_back(name);
  }
  return diff;
}

}  // namespace capstan

#include "client/slice.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace capstan {
namespace {

using Axis = SlicePlan::Axis;

// `at` as a place of an axis, clamped to [low, high]; a negative one counts
// from the end.
int64_t Clamp(int64_t at, int64_t size, int64_t low, int64_t high) {
  if (at < 0) at += size;
  return std::clamp(at, low, high);
}

Axis TakeRange(const Range& range, int64_t size) {
  const bool forward = range.step > 0;
  // Backwards the places are those before the first to those before the end.
  const int64_t low = forward ? 0 : -1;
  const int64_t high = forward ? size : size - 1;
  const int64_t start = range.start ? Clamp(*range.start, size, low, high)
                                    : (forward ? low : high);
  const int64_t stop =
      range.stop ? Clamp(*range.stop, size, low, high) : (forward ? high : low);
  Axis axis = {.start = start, .step = range.step};
  const int64_t distance = forward ? stop - start : start - stop;
  if (distance <= 0) return axis;
  // Unsigned, as there is no -INT64_MIN.
  const uint64_t step = forward ? static_cast<uint64_t>(range.step)
                                : -static_cast<uint64_t>(range.step);
  axis.count =
      static_cast<int64_t>((static_cast<uint64_t>(distance) - 1) / step + 1);
  if (axis.count == 1) axis.step = 1;
  return axis;
}

// Takes the selectors one after the other.
class Planner {
 public:
  explicit Planner(const Shape& shape) : shape_(shape) {}

  absl::StatusOr<SlicePlan> Plan(std::span<const Selector> selectors) {
    CAPSTAN_RETURN_IF_ERROR(Count(selectors));
    for (const Selector& selector : selectors) {
      CAPSTAN_RETURN_IF_ERROR(
          std::visit([this](const auto& s) { return Take(s); }, selector));
    }
    while (axis() < shape_.rank()) TakeAll();
    absl::StatusOr<Shape> result = MakeShape(dims_);
    if (!result.ok()) return result.status();
    plan_.shape = *result;
    return std::move(plan_);
  }

 private:
  // The axis that the next selector is for.
  int axis() const { return static_cast<int>(plan_.axes.size()); }

  absl::Status Count(std::span<const Selector> selectors) {
    int ellipses = 0;
    for (const Selector& selector : selectors) {
      if (std::holds_alternative<Ellipsis>(selector)) {
        ++ellipses;
      } else if (!std::holds_alternative<NewAxis>(selector)) {
        ++selected_;
      }
    }
    if (ellipses > 1) {
      return absl::InvalidArgumentError(
          "two ellipses: which axes each of them stands for is not clear");
    }
    if (selected_ > shape_.rank()) {
      return absl::InvalidArgumentError(
          absl::StrCat("selectors for ", selected_, " axes, and the shape ",
                       shape_.ToString(), " has ", shape_.rank()));
    }
    return absl::OkStatus();
  }

  absl::Status Take(const Index& index) {
    const int64_t size = shape_[axis()];
    const int64_t at = index.at < 0 ? index.at + size : index.at;
    if (at < 0 || at >= size) {
      return absl::OutOfRangeError(
          absl::StrCat("index ", index.at, " is not in axis ", axis(),
                       " of the shape ", shape_.ToString()));
    }
    plan_.axes.push_back({.start = at, .step = 1, .count = 1});
    return absl::OkStatus();
  }

  absl::Status Take(const Range& range) {
    if (range.step == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("a step of 0 in axis ", axis()));
    }
    const Axis taken = TakeRange(range, shape_[axis()]);
    plan_.axes.push_back(taken);
    dims_.push_back(taken.count);
    return absl::OkStatus();
  }

  absl::Status Take(const Ellipsis&) {
    for (int left = shape_.rank() - selected_; left > 0; --left) TakeAll();
    return absl::OkStatus();
  }

  absl::Status Take(const NewAxis&) {
    dims_.push_back(1);
    return absl::OkStatus();
  }

  absl::Status Take(const Mask& mask) {
    if (axis() != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a mask for axis ", axis(), ": it can only be for the first"));
    }
    if (static_cast<int64_t>(mask.rows.size()) != shape_[0]) {
      return absl::InvalidArgumentError(
          absl::StrCat("a mask of ", mask.rows.size(), " rows for the shape ",
                       shape_.ToString()));
    }
    plan_.has_mask = true;
    for (size_t i = 0; i < mask.rows.size(); ++i) {
      if (mask.rows[i]) plan_.masked.push_back(static_cast<int64_t>(i));
    }
    const auto count = static_cast<int64_t>(plan_.masked.size());
    plan_.axes.push_back({.start = 0, .step = 1, .count = count});
    dims_.push_back(count);
    return absl::OkStatus();
  }

  void TakeAll() {
    const int64_t size = shape_[axis()];
    plan_.axes.push_back({.start = 0, .step = 1, .count = size});
    dims_.push_back(size);
  }

  const Shape shape_;
  int selected_ = 0;  // axes for which there is a selector
  SlicePlan plan_;
  std::vector<int64_t> dims_;
};

// Whether the first axis is taken in order and the others whole.
bool IsWhole(std::span<const Axis> axes, std::span<const int64_t> sizes) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].step != 1) return false;
    if (i > 0 && axes[i].count != sizes[i]) return false;
  }
  return true;
}

// Copies what `axes` select of an array of `sizes` to `out`, and returns where
// it ended.
std::byte* CopyAxes(std::span<const Axis> axes, std::span<const int64_t> sizes,
                    size_t element, const std::byte* from, std::byte* out) {
  if (axes.empty()) {
    std::memcpy(out, from, element);
    return out + element;
  }
  size_t stride = element;
  for (const int64_t size : sizes.subspan(1)) {
    stride *= static_cast<size_t>(size);
  }
  const Axis& axis = axes[0];
  if (IsWhole(axes, sizes)) {
    const size_t bytes = static_cast<size_t>(axis.count) * stride;
    std::memcpy(out, from + static_cast<size_t>(axis.start) * stride, bytes);
    return out + bytes;
  }
  for (int64_t i = 0; i < axis.count; ++i) {
    const auto at = static_cast<size_t>(axis.start + i * axis.step);
    out = CopyAxes(axes.subspan(1), sizes.subspan(1), element,
                   from + at * stride, out);
  }
  return out;
}

// The rows that a slice needs.
struct RowsNeeded {
  bool contiguous = false;
  int64_t begin = 0;  // if contiguous
  int64_t end = 0;
  std::vector<int64_t> ids;  // else
};

RowsNeeded NeededBy(const SlicePlan& plan, bool waits) {
  RowsNeeded rows;
  if (plan.has_mask) {
    rows.ids = plan.masked;
    return rows;
  }
  const Axis& axis = plan.axes[0];
  const int64_t last = axis.start + (axis.count - 1) * axis.step;
  // A range of rows is read without regard to rounds.
  if (!waits && (axis.step == 1 || axis.step == -1)) {
    rows.contiguous = true;
    rows.begin = std::min(axis.start, last);
    rows.end = std::max(axis.start, last) + 1;
    return rows;
  }
  rows.ids.reserve(static_cast<size_t>(axis.count));
  for (int64_t i = 0; i < axis.count; ++i) {
    rows.ids.push_back(axis.start + i * axis.step);
  }
  return rows;
}

Task<absl::Status> ReadNeeded(ParameterClient& client, uint32_t variable,
                              const RowsNeeded& rows, MutableBytes into,
                              ReadOptions options) {
  if (rows.contiguous) {
    co_return co_await client.ReadRows(variable, rows.begin, rows.end, into, 0,
                                       options);
  }
  GatherItem item;
  item.variable = variable;
  item.ids = rows.ids;
  item.into = into;
  const std::span<GatherItem> items(&item, 1);
  co_return co_await client.Gather(items, options);
}

// The plan with the first axis as it is among the rows that were read.
std::vector<Axis> AmongRead(const SlicePlan& plan, const RowsNeeded& rows) {
  std::vector<Axis> axes = plan.axes;
  if (rows.contiguous) {
    axes[0].start -= rows.begin;
  } else {
    axes[0].start = 0;
    axes[0].step = 1;
  }
  return axes;
}

}  // namespace

absl::StatusOr<SlicePlan> PlanSlice(const Shape& shape,
                                    std::span<const Selector> selectors) {
  return Planner(shape).Plan(selectors);
}

Task<absl::StatusOr<Tensor>> ReadSlice(ParameterClient& client,
                                       uint32_t variable,
                                       std::vector<Selector> selectors,
                                       ReadOptions options) {
  const absl::StatusOr<VariableSpec> spec =
      co_await client.Spec(variable, options.timeout, options.cancellation);
  if (!spec.ok()) co_return spec.status();
  absl::StatusOr<SlicePlan> plan = PlanSlice(spec->shape, selectors);
  if (!plan.ok()) {
    co_return WithContext(plan.status(),
                          absl::StrCat("variable '", spec->name, "'"));
  }
  absl::StatusOr<Tensor> result =
      AllocateTensor(spec->dtype, plan->shape, Fill::kNone);
  if (!result.ok() || plan->shape.num_elements() == 0) co_return result;
  const MutableBytes out = result->mutable_view().mutable_bytes();
  const bool scalar = plan->axes.empty();
  RowsNeeded rows = {.contiguous = true, .begin = 0, .end = 1, .ids = {}};
  if (!scalar) rows = NeededBy(*plan, options.round != 0);
  const auto count = rows.contiguous
                         ? static_cast<size_t>(rows.end - rows.begin)
                         : rows.ids.size();
  const size_t row_bytes =
      static_cast<size_t>(spec->shape.row_elements()) * SizeOf(spec->dtype);
  const std::vector<Axis> axes =
      scalar ? std::vector<Axis>() : AmongRead(*plan, rows);
  // Whole rows in their order come straight to where they belong.
  Buffer arrived;
  MutableBytes into = out;
  if (!IsWhole(axes, spec->shape.dims())) {
    absl::StatusOr<Buffer> memory =
        Buffer::Allocate(count * row_bytes, Fill::kNone);
    if (!memory.ok()) co_return memory.status();
    arrived = *std::move(memory);
    into = arrived.mutable_bytes();
  }
  const absl::Status status =
      co_await ReadNeeded(client, variable, rows, into, options);
  if (!status.ok()) co_return status;
  if (into.data() != out.data()) {
    CopyAxes(axes, spec->shape.dims(), SizeOf(spec->dtype), into.data(),
             out.data());
  }
  co_return result;
}

}  // namespace capstan

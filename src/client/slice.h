// Slices of variables, with the meaning that they have in Python and
// TensorFlow:
//
//   v[2:8:3, ..., -1]   {Range{2, 8, 3}, Ellipsis{}, Index{-1}}
//
// Only the rows of the first axis that are needed travel; the other axes are
// cut where they arrive.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "base/async/task.h"
#include "base/status.h"
#include "capstan/tensor.h"
#include "client/parameter_client.h"

namespace capstan {

// One place of an axis, which is gone from the result. A negative one counts
// from the end.
struct Index {
  int64_t at = 0;
};
// From `start` on, every `step`-th, up to but without `stop`. Negative ends
// count from the end, and those beyond the axis mean its end. A negative step
// goes backwards. Without `start` or `stop`: from or to the end.
struct Range {
  std::optional<int64_t> start = std::nullopt;
  std::optional<int64_t> stop = std::nullopt;
  int64_t step = 1;
};
// All of as many axes as the other selectors leave.
struct Ellipsis {};
// An axis of size 1 that the variable has not.
struct NewAxis {};
// The rows of the first axis that are true; as many as it has.
struct Mask {
  std::vector<bool> rows;
};
// Axes without a selector are taken whole.
using Selector = std::variant<Index, Range, Ellipsis, NewAxis, Mask>;

// What selectors make of a shape.
struct SlicePlan {
  // The elements start, start + step, ... of an axis, `count` of them.
  struct Axis {
    int64_t start = 0;
    int64_t step = 1;
    int64_t count = 0;
  };
  std::vector<Axis> axes;       // of the variable
  std::vector<int64_t> masked;  // with a mask: the rows instead of axes[0]
  bool has_mask = false;
  Shape shape;  // of the result
};

// OutOfRange for an index that is not in its axis. InvalidArgument, with the
// reason: more selectors than axes, two ellipses, a step of 0, a mask that is
// not for the first axis or not as long, a result of too many axes.
absl::StatusOr<SlicePlan> PlanSlice(const Shape& shape,
                                    std::span<const Selector> selectors);

// Reads a slice. The errors of PlanSlice, before anything is asked, with the
// variable's name; NotFound if there is no such variable; those of the reads.
// `client` must outlive the task.
Task<absl::StatusOr<Tensor>> ReadSlice(ParameterClient& client,
                                       uint32_t variable,
                                       std::vector<Selector> selectors,
                                       ReadOptions options = {});

}  // namespace capstan

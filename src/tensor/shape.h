// Shapes whose dims come from a peer or a file: checked, without exceptions.
// The class is public, in capstan/tensor.h. This is the one place where the
// product of dims is checked for overflow; ByteSize of a Shape that exists
// needs no check.
// Thread-safe: pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "capstan/tensor.h"

namespace capstan {

// OK if `dims` make a Shape: at most Shape::kMaxRank of them, none negative,
// and the product of those that are not 0 at most Shape::kMaxElements. (An
// axis of 0 hides no overflow: the size of a row has to fit as well.) Else
// kInvalidArgument, naming the dims.
absl::Status CheckDims(std::span<const int64_t> dims);

// The Shape of `dims`, or the error of CheckDims. Allocates nothing.
absl::StatusOr<Shape> MakeShape(std::span<const int64_t> dims);

}  // namespace capstan

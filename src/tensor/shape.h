// Shapes whose dims come from a peer or a file: checked, without exceptions.
// The class is public, in capstan/tensor.h. This is the only place that checks
// the product of dims for overflow; ByteSize of an existing Shape needs no
// check.
// Thread-safe: pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "capstan/tensor.h"

namespace capstan {

// OK if `dims` make a valid Shape: at most Shape::kMaxRank of them, none
// negative, and the product of the non-zero ones at most Shape::kMaxElements.
// (A dim of 0 does not hide overflow: the size of a row has to fit as well.)
// Otherwise kInvalidArgument, naming the dims.
absl::Status CheckDims(std::span<const int64_t> dims);

// The Shape of `dims`, or the error of CheckDims. Allocates nothing.
absl::StatusOr<Shape> MakeShape(std::span<const int64_t> dims);

}  // namespace capstan

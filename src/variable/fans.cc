#include "variable/fans.h"

namespace capstan {

Fans FansOf(const Shape& shape) {
  const int rank = shape.rank();
  if (rank == 0) return {};
  const auto dim = [&](int axis) { return static_cast<double>(shape[axis]); };
  if (rank == 1) return {.in = dim(0), .out = dim(0)};
  double receptive_field = 1;
  for (int axis = 0; axis < rank - 2; ++axis) receptive_field *= dim(axis);
  return {.in = receptive_field * dim(rank - 2),
          .out = receptive_field * dim(rank - 1)};
}

}  // namespace capstan

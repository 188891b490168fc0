// How many inputs and outputs a unit of a layer has, inferred from the shape of
// its weights, as in Keras.
// Pure; thread-safe.
#pragma once

#include "capstan/tensor.h"

namespace capstan {

struct Fans {
  double in = 1;
  double out = 1;
};

// For a scalar 1 and 1; for a vector its size, twice; for a matrix its rows and
// columns; with more axes the last two, each times the product of the axes
// before them.
Fans FansOf(const Shape& shape);

}  // namespace capstan

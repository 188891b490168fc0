// How many inputs and outputs a unit of a layer has, going by the shape of its
// weights. As in Keras.
// Pure; thread-safe.
#pragma once

#include "capstan/tensor.h"

namespace capstan {

struct Fans {
  double in = 1;
  double out = 1;
};

// Of a scalar 1 and 1, of a vector its size twice, of a matrix its rows and
// columns; of more axes the last two, each times all the axes before them.
Fans FansOf(const Shape& shape);

}  // namespace capstan

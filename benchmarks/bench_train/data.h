// What the two models are trained on.
#pragma once

#include "capstan/dataset.h"

namespace capstan::bench {

// Fashion-MNIST, from Debian's package: "x" (f32, [784], in [0, 1]) and "y".
// Without the package, images of the same shape generated from a seed.
Dataset Images();
Dataset TestImages();

// Clicks, generated from a seed: "ids" ([26], i64), "x" ([13], f32) and "y"
// (f32).
Dataset Clicks();

}  // namespace capstan::bench

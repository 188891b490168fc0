// The same training in one process without faults: what synchronous rounds must
// produce, to the last bit.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "simulate/digits/digit_variables.h"

namespace capstan::simulate {

// The values of `drift` after `rounds`. Each round lists the slots of its
// updates in the order in which they are summed. Pure.
std::vector<float> ReplayDrift(const DigitVariables& variables,
                               std::span<const std::vector<size_t>> rounds);

}  // namespace capstan::simulate

// The order of a shuffled epoch, computed place by place: no table, so that an
// epoch of 10^9 ranges costs no memory and a position in it is a number.
//
// It is a Feistel network: the places are written as a rectangle, and in turn
// each column is rotated by a random amount and each row is, which can be
// undone and is therefore a permutation. The rectangle is a little larger than
// the epoch; a place that is sent to the part beyond it is sent on until it
// comes back ("cycle walking"), and that is a permutation again.
//
// The orders are part of what a saved position means: they never change.
// Pure; thread-safe.
#pragma once

#include <cstdint>

namespace capstan {

// Which of the `size` things is at the place `index` of the order that belongs
// to (seed, epoch). `index` must be below `size`. Takes about a microsecond.
uint64_t ShuffledAt(uint64_t seed, uint64_t epoch, uint64_t size,
                    uint64_t index);

}  // namespace capstan

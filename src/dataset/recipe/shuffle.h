// The order of a shuffled epoch, computed position by position: there is no
// table, so an epoch of 10^9 ranges costs no memory and a position in it is a
// number.
//
// This is a Feistel network: the positions are written as a rectangle, and in
// turn each column and then each row is rotated by a random amount. Each
// rotation is reversible, so the result is a permutation. The rectangle is a
// little larger than the epoch; a position that is sent to the part beyond the
// epoch is sent on until it comes back ("cycle walking"), which is again a
// permutation.
//
// The orders are part of what a saved position means: they never change.
// Pure; thread-safe.
#pragma once

#include <cstdint>

namespace capstan {

// Which of `size` elements is at position `index` of the order for (seed,
// epoch). `index` must be below `size`. Takes about a microsecond.
uint64_t ShuffledAt(uint64_t seed, uint64_t epoch, uint64_t size,
                    uint64_t index);

}  // namespace capstan

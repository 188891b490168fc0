// Random orthogonal matrices.
// Pure; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace capstan {

// A matrix of `rows` times `columns`, row by row, drawn uniformly from those
// with orthonormal columns, or with orthonormal rows if there are more columns
// than rows. Takes about 4 * rows * columns * min(rows, columns) operations.
std::vector<double> RandomOrthogonal(size_t rows, size_t columns,
                                     uint64_t seed);

}  // namespace capstan

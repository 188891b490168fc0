// Packs narrow rows side by side, so that a kernel can process many at once.
// Thread-safe: pure functions of memory that the caller guards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace capstan {

// Copies row rows[i] of `table`, `row_size` floats, to position i of `out`, for
// each i below `count`. The rows from `count` on are needed next, and are
// prefetched.
void GatherRows(const float* table, std::span<const uint32_t> rows,
                size_t count, size_t row_size, float* out);

// Copies position i of `in` to row rows[i] of `table`.
void ScatterRows(const float* in, std::span<const uint32_t> rows,
                 size_t row_size, float* table);

}  // namespace capstan

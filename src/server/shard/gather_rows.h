// Copies rows out of a table that is far larger than the caches. Pure;
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace capstan {

// Copies row rows[i] of `table`, whose rows have `row_bytes` bytes, to out + i
// * row_bytes. The rows must be in range.
void GatherRows(const std::byte* table, size_t row_bytes,
                std::span<const uint32_t> rows, std::byte* out);

}  // namespace capstan

#include "server/shard/gather_rows.h"

#include <algorithm>
#include <cstring>

namespace capstan {
namespace {

constexpr size_t kCacheLine = 64;
// Enough outstanding misses to use the memory bandwidth; more do not help.
constexpr size_t kAhead = 32;
// The hardware prefetches the rest of a long row by itself.
constexpr size_t kMostPrefetched = 4 * kCacheLine;

// Into the second-level cache, which can have more lines outstanding than the
// first. Always inline: GCC drops calls of a function that only prefetches.
[[gnu::always_inline]] inline void Prefetch(const std::byte* row,
                                            size_t row_bytes) {
  const size_t bytes = std::min(row_bytes, kMostPrefetched);
  for (size_t i = 0; i < bytes; i += kCacheLine) {
    __builtin_prefetch(row + i, 0, 2);
  }
}

// With a size known at compile time, a copy is a few moves.
template <size_t kRowBytes>
void Gather(const std::byte* table, size_t row_bytes,
            std::span<const uint32_t> rows, std::byte* out) {
  const size_t size = kRowBytes != 0 ? kRowBytes : row_bytes;
  const size_t ahead = std::min(kAhead, rows.size());
  for (size_t i = 0; i < ahead; ++i) Prefetch(table + rows[i] * size, size);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i + kAhead < rows.size()) {
      Prefetch(table + rows[i + kAhead] * size, size);
    }
    std::memcpy(out + i * size, table + rows[i] * size, size);
  }
}

}  // namespace

void GatherRows(const std::byte* table, size_t row_bytes,
                std::span<const uint32_t> rows, std::byte* out) {
  switch (row_bytes) {
    case 0:
      return;
    case 16:
      return Gather<16>(table, row_bytes, rows, out);
    case 32:
      return Gather<32>(table, row_bytes, rows, out);
    case 64:
      return Gather<64>(table, row_bytes, rows, out);
    case 128:
      return Gather<128>(table, row_bytes, rows, out);
    case 256:
      return Gather<256>(table, row_bytes, rows, out);
    default:
      return Gather<0>(table, row_bytes, rows, out);
  }
}

}  // namespace capstan

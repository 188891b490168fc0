#include "server/shard/gather_rows.h"

#include <algorithm>
#include <cstring>

namespace capstan {
namespace {

constexpr size_t kCacheLine = 64;
// Enough misses under way to use the memory's bandwidth; more do not help.
constexpr size_t kAhead = 32;
// Of a long row the hardware fetches the rest by itself.
constexpr size_t kMostPrefetched = 4 * kCacheLine;

// Into the second-level cache, which can have more lines under way than the
// first. Always inline: GCC leaves out calls of a function that only
// prefetches.
[[gnu::always_inline]] inline void Prefetch(const std::byte* row,
                                            size_t row_bytes) {
  const size_t bytes = std::min(row_bytes, kMostPrefetched);
  for (size_t i = 0; i < bytes; i += kCacheLine) {
    __builtin_prefetch(row + i, 0, 2);
  }
}

// With the size known to the compiler a copy is a few moves.
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

#include "base/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <bit>
#include <cstddef>

namespace capstan {
namespace {

constexpr uint32_t kMaskDelta = 0xa282ead8u;

// ISA-L takes an int length; larger buffers are processed in pieces of this
// size.
constexpr size_t kMaxPiece = size_t{1} << 30;

}  // namespace

uint32_t ExtendCrc32c(uint32_t crc, Bytes data) {
  // ISA-L leaves both of the standard's inversions to the caller.
  uint32_t state = ~crc;
  while (!data.empty()) {
    const Bytes piece = data.first(std::min(data.size(), kMaxPiece));
    // ISA-L only reads; the parameter merely lacks const.
    auto* start = const_cast<std::byte*>(piece.data());
    state = crc32_iscsi(reinterpret_cast<unsigned char*>(start),
                        static_cast<int>(piece.size()), state);
    data = data.subspan(piece.size());
  }
  return ~state;
}

uint32_t MaskCrc32c(uint32_t crc) { return std::rotr(crc, 15) + kMaskDelta; }

uint32_t UnmaskCrc32c(uint32_t masked) {
  return std::rotl(masked - kMaskDelta, 15);
}

}  // namespace capstan

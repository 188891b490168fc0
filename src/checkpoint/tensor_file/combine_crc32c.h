// The CRC-32C of two concatenated pieces from the CRC of each, so that the
// bytes of a file are checksummed only once, for their tensor, and the checksum
// of the file follows.
// Pure; thread-safe.
#pragma once

#include <cstdint>

namespace capstan {

// The CRC of A followed by B, where `first` is that of A, `second` that of B,
// and B has `second_bytes`. Takes less than a microsecond for any size.
uint32_t CombineCrc32c(uint32_t first, uint32_t second, uint64_t second_bytes);

}  // namespace capstan

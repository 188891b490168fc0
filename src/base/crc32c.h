// CRC-32C (Castagnoli, reflected 0x82F63B78): the checksum of frames,
// checkpoint blocks and TFRecord files. It detects accidental corruption, not
// tampering. Pure functions; thread-safe. Uses the CPU's CRC instructions if
// available (ISA-L chooses at run time).
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace capstan {

// The CRC of A followed by `data`, where `crc` is the CRC of A.
// The CRC of no bytes is 0.
uint32_t ExtendCrc32c(uint32_t crc, Bytes data);

// The CRC of `data`.
inline uint32_t Crc32c(Bytes data) { return ExtendCrc32c(0, data); }

// The CRC in the form that is stored next to the data it covers, as TFRecord
// defines it: a CRC over bytes that contain CRCs is weak, so stored ones are
// rotated and offset. UnmaskCrc32c is the inverse.
uint32_t MaskCrc32c(uint32_t crc);
uint32_t UnmaskCrc32c(uint32_t masked);

}  // namespace capstan

// The CRC-32 of zip archives (reflected 0xEDB88320); Capstan's own files use a
// different one. Pure; thread-safe.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace capstan {

// The CRC of A followed by `data`, where `crc` is the CRC of A. The CRC of no
// bytes is 0.
uint32_t ExtendZipCrc32(uint32_t crc, Bytes data);

}  // namespace capstan

// The constants of zip archives (APPNOTE.TXT 6.3.3, little-endian), shared by
// the writer and the reader.
#pragma once

#include <cstddef>
#include <cstdint>

namespace capstan {

// Signatures of the records.
inline constexpr uint32_t kZipLocalHeader = 0x04034b50;
inline constexpr uint32_t kZipDirectoryEntry = 0x02014b50;
inline constexpr uint32_t kZipEnd = 0x06054b50;
inline constexpr uint32_t kZipEnd64 = 0x06064b50;
inline constexpr uint32_t kZipLocator64 = 0x07064b50;

// Sizes of the records, without their variable parts.
inline constexpr size_t kZipLocalHeaderBytes = 30;
inline constexpr size_t kZipDirectoryEntryBytes = 46;
inline constexpr size_t kZipEndBytes = 22;
inline constexpr size_t kZipEnd64Bytes = 56;
inline constexpr size_t kZipLocator64Bytes = 20;

// The extra field for numbers that do not fit: those of at least these limits.
inline constexpr uint16_t kZipExtra64 = 1;
inline constexpr uint64_t kZipLimit16 = UINT16_MAX;
inline constexpr uint64_t kZipLimit32 = UINT32_MAX;

// Compression methods.
inline constexpr uint16_t kZipStored = 0;
inline constexpr uint16_t kZipDeflated = 8;

}  // namespace capstan

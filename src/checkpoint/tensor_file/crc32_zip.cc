#include "checkpoint/tensor_file/crc32_zip.h"

#include <array>
#include <bit>
#include <cstring>

namespace capstan {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr size_t kStride = 8;
using Tables = std::array<std::array<uint32_t, 256>, kStride>;

// tables[k][b]: the CRC of byte b followed by k zeros.
constexpr Tables MakeTables() {
  Tables tables{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc & 1) != 0 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
    }
    tables[0][b] = crc;
  }
  for (size_t k = 1; k < kStride; ++k) {
    for (size_t b = 0; b < 256; ++b) {
      const uint32_t before = tables[k - 1][b];
      tables[k][b] = before >> 8 ^ tables[0][before & 0xff];
    }
  }
  return tables;
}

constexpr Tables kTables = MakeTables();

}  // namespace

uint32_t ExtendZipCrc32(uint32_t crc, Bytes data) {
  crc = ~crc;
  while (data.size() >= kStride) {
    uint64_t word = 0;
    std::memcpy(&word, data.data(), kStride);
    word ^= crc;
    crc = 0;
    for (size_t k = 0; k < kStride; ++k) {
      crc ^= kTables[kStride - 1 - k][word >> (8 * k) & 0xff];
    }
    data = data.subspan(kStride);
  }
  for (const std::byte byte : data) {
    crc = crc >> 8 ^ kTables[0][(crc ^ static_cast<uint32_t>(byte)) & 0xff];
  }
  return ~crc;
}

}  // namespace capstan

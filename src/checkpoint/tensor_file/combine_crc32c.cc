#include "checkpoint/tensor_file/combine_crc32c.h"

namespace capstan {
namespace {

// Polynomials over GF(2) modulo that of CRC-32C, reflected: bit 31 is x^0.
constexpr uint32_t kPolynomial = 0x82f63b78;
constexpr uint32_t kOne = 0x80000000;
constexpr uint32_t kXToThe8 = kOne >> 8;

constexpr uint32_t Multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t bit = kOne; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) product ^= b;
    b = (b & 1) != 0 ? b >> 1 ^ kPolynomial : b >> 1;
  }
  return product;
}

}  // namespace

// Appending n bytes to A multiplies its CRC by x^(8n); the inversions at the
// start and end of each CRC cancel out.
uint32_t CombineCrc32c(uint32_t first, uint32_t second, uint64_t second_bytes) {
  uint32_t factor = kOne;
  uint32_t power = kXToThe8;
  for (uint64_t rest = second_bytes; rest != 0; rest >>= 1) {
    if ((rest & 1) != 0) factor = Multiply(factor, power);
    power = Multiply(power, power);
  }
  return Multiply(factor, first) ^ second;
}

}  // namespace capstan

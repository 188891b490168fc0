#include "dataset/recipe/shuffle.h"

#include <bit>

#include "base/random.h"

namespace capstan {
namespace {

// Four are enough for large epochs (Luby and Rackoff); smaller epochs need more
// until successive places look random: shuffle_test fails with 8 and passes
// with 16.
constexpr uint32_t kRounds = 24;

struct Rectangle {
  uint64_t rows;
  uint64_t columns;
};

// About square, with at least `size` places and less than one row more.
Rectangle RectangleOf(uint64_t size) {
  const auto bits = std::bit_width(size - 1);
  const uint64_t columns = uint64_t{1} << (bits + 1) / 2;
  return {(size - 1) / columns + 1, columns};
}

uint64_t Rotate(uint64_t value, uint64_t random, uint64_t size) {
  return (value + random % size) % size;
}

uint64_t Permute(const Rectangle& rectangle, uint64_t key, uint64_t place) {
  uint64_t row = place / rectangle.columns;
  uint64_t column = place % rectangle.columns;
  for (uint32_t round = 0; round < kRounds; round += 2) {
    row = Rotate(row, RandomBitsAt(key, column, round)[0], rectangle.rows);
    column =
        Rotate(column, RandomBitsAt(key, row, round + 1)[0], rectangle.columns);
  }
  return row * rectangle.columns + column;
}

}  // namespace

uint64_t ShuffledAt(uint64_t seed, uint64_t epoch, uint64_t size,
                    uint64_t index) {
  const Rectangle rectangle = RectangleOf(size);
  const uint64_t key = RandomBitsAt(seed, epoch)[0];
  do {
    index = Permute(rectangle, key, index);
  } while (index >= size);
  return index;
}

}  // namespace capstan

#include "server/shard/gather_rows.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace capstan {
namespace {

// Around the sizes that have specialised code, and the prefetch limit.
TEST(GatherRowsTest, CopiesEachRow) {
  Random random(1);
  for (const size_t size : {0, 1, 2, 4, 12, 15, 16, 17, 32, 33, 64, 65, 100,
                            128, 130, 256, 257, 300, 1000}) {
    constexpr size_t kRows = 50;
    std::vector<std::byte> table(kRows * size + 1);
    for (std::byte& byte : table) {
      byte = static_cast<std::byte>(random.Between(0, 255));
    }
    for (const size_t count : {0, 1, 2, 15, 16, 17, 100}) {
      std::vector<uint32_t> rows(count);
      for (uint32_t& row : rows) {
        row = static_cast<uint32_t>(random.Between(0, kRows - 1));
      }
      // Not aligned, with an extra byte on both sides to see that it is not
      // touched.
      std::vector<std::byte> out(count * size + 2, std::byte{0xee});
      GatherRows(table.data() + 1, size, rows, out.data() + 1);
      EXPECT_EQ(out.front(), std::byte{0xee});
      EXPECT_EQ(out.back(), std::byte{0xee});
      for (size_t i = 0; i < count; ++i) {
        for (size_t k = 0; k < size; ++k) {
          ASSERT_EQ(out[1 + i * size + k], table[1 + rows[i] * size + k])
              << "row " << i << " of " << size << " bytes";
        }
      }
    }
  }
}

}  // namespace
}  // namespace capstan

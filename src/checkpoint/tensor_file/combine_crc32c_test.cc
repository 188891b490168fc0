#include "checkpoint/tensor_file/combine_crc32c.h"

#include <gtest/gtest.h>

#include <string>

#include "base/crc32c.h"
#include "rapidcheck/gtest.h"

namespace capstan {
namespace {

RC_GTEST_PROP(CombineCrc32cTest, IsThatOfBoth,
              (const std::string& a, const std::string& b)) {
  RC_ASSERT(CombineCrc32c(Crc32c(AsBytes(a)), Crc32c(AsBytes(b)), b.size()) ==
            Crc32c(AsBytes(a + b)));
}

TEST(CombineCrc32cTest, Large) {
  const std::string a(1'000'003, 'a');
  const std::string b(5'000'011, 'b');
  EXPECT_EQ(CombineCrc32c(Crc32c(AsBytes(a)), Crc32c(AsBytes(b)), b.size()),
            Crc32c(AsBytes(a + b)));
}

}  // namespace
}  // namespace capstan

#include "dataset/format/line_counter.h"

#include <gtest/gtest.h>

#include <string>

#include "dataset/format/input_file.h"
#include "dataset/read_all_test.h"
#include "testing/temp_dir.h"

namespace capstan {
namespace {

TEST(LineCounterTest, CountsForwardsAndBackwards) {
  const testing::TempDir dir;
  std::string text = "a\n\nb\n";
  text.append(100'000, 'x').append("\ny");
  WriteText(dir / "f", text);
  const auto file = *OpenInputFile(dir / "f");
  LineCounter counter;
  EXPECT_EQ(counter.LineAt(*file, 0), 1u);
  EXPECT_EQ(counter.LineAt(*file, 1), 1u);
  EXPECT_EQ(counter.LineAt(*file, 2), 2u);
  EXPECT_EQ(counter.LineAt(*file, text.size() - 1), 5u);
  EXPECT_EQ(counter.LineAt(*file, 3), 3u);
  EXPECT_EQ(counter.LineAt(*file, 90'000), 4u);
  EXPECT_EQ(counter.LineAt(*file, text.size()), 5u);
}

TEST(LineCounterTest, AFileThatBecameShorterHasNoSuchLine) {
  const testing::TempDir dir;
  WriteText(dir / "f", "a\n");
  LineCounter counter;
  EXPECT_EQ(counter.LineAt(**OpenInputFile(dir / "f"), 3), 0u);
}

}  // namespace
}  // namespace capstan

#include "cli/checkpoint_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "absl/strings/str_cat.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(CheckpointTextTest, Times) {
  EXPECT_EQ(UtcText(0), "1970-01-01 00:00:00");
  EXPECT_EQ(UtcText(1'700'000'000'999), "2023-11-14 22:13:20");
  EXPECT_EQ(UtcText(-1), "1969-12-31 23:59:59");
  EXPECT_EQ(UtcText(std::numeric_limits<int64_t>::max()), "-");
  EXPECT_EQ(UtcText(std::numeric_limits<int64_t>::min()), "-");
}

TEST(CheckpointTextTest, Sizes) {
  EXPECT_EQ(SizeText(0), "0 B");
  EXPECT_EQ(SizeText(999), "999 B");
  EXPECT_EQ(SizeText(1000), "1.0 kB");
  EXPECT_EQ(SizeText(999'949), "999.9 kB");
  EXPECT_EQ(SizeText(999'950), "1.0 MB");
  EXPECT_EQ(SizeText(1'500'000'000), "1.5 GB");
  EXPECT_EQ(SizeText(2'000'000'000'000'000), "2000.0 TB");
}

// `step` is not used, because it starts again with each coordinator.
TEST(CheckpointTextTest, HowFarTheTrainingIs) {
  std::vector<Checkpoint> checkpoints(3);
  checkpoints[0].manifest.step = 493;
  checkpoints[0].manifest.records = {
      {"trainer/net", R"({"iterations": 469, "epoch": 1, "batch": 0})"}};
  checkpoints[1].manifest.step = 40;
  checkpoints[1].manifest.records = {
      {"trainer/net", R"({"iterations": 500, "epoch": 1, "batch": 31})"}};
  checkpoints[2]
      .manifest.variables.emplace_back()
      .shards.emplace_back()
      .updates = 7;
  const std::string table = CheckpointsTable(checkpoints);
  EXPECT_THAT(table, AllOf(HasSubstr("        469       1 "),
                           HasSubstr("        500    1+31 "),
                           HasSubstr("          7       - ")));
  EXPECT_THAT(CheckpointText(checkpoints[1]),
              HasSubstr(": 500 iterations, epochs 1+31\n"));
}

// Records come from users and may hold anything.
TEST(CheckpointTextTest, RecordsAreShortAndPrintable) {
  Checkpoint checkpoint{.name = "ckpt-1", .number = 1, .manifest = {}};
  checkpoint.manifest.records = {
      {"bell", "\a"}, {"long", absl::StrCat(std::string(59, 'x'), "ä", "yz")}};
  const std::string text = CheckpointText(checkpoint);
  EXPECT_THAT(text, HasSubstr("  bell: \\x07\n"));
  EXPECT_THAT(text, HasSubstr(absl::StrCat("  long: ", std::string(59, 'x'),
                                           "... (63 bytes)\n")));
  EXPECT_THAT(text, Not(HasSubstr("\xc3")));
}

}  // namespace
}  // namespace capstan

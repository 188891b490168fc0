#include "base/file/make_directories.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "simulation/sim_file_system.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::StatusIs;

// What a power failure leaves is random, except for what is durable.
constexpr uint64_t kSeeds = 50;

TEST(MakeDirectoriesTest, AllOfThePathIsThereAfterAPowerFailure) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SimFileSystem files;
    ASSERT_OK(MakeDirectories(files, "a/b/c"));
    Random random(seed);
    files.Crash(random);
    ASSERT_OK(files.Stat("a/b/c"));
    EXPECT_EQ(files.Stat("a/b/c")->mode, 0700u);
  }
}

TEST(MakeDirectoriesTest, SoAreThoseThatSomebodyElseHasMade) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SimFileSystem files;
    ASSERT_OK(files.CreateDir("a"));
    ASSERT_OK(files.CreateDir("a/b"));
    ASSERT_OK(MakeDirectories(files, "a/b"));
    Random random(seed);
    files.Crash(random);
    EXPECT_OK(files.Stat("a/b"));
  }
}

TEST(MakeDirectoriesTest, AFileInTheWayIsNamed) {
  SimFileSystem files;
  ASSERT_OK(files.CreateForWrite("a", IfExists::kFail).status());
  EXPECT_THAT(
      MakeDirectories(files, "a"),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("\"a\""), HasSubstr("directory is wanted"))));
  EXPECT_THAT(MakeDirectories(files, "a/b"),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_OK(MakeDirectories(files, ""));
}

}  // namespace
}  // namespace capstan

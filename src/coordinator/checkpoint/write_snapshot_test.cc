#include "coordinator/checkpoint/write_snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "checkpoint/manifest.h"
#include "testing/temp_dir.h"

namespace capstan {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TempDir;

// For a directory that is created below the root.
SharedPath Below(const TempDir& root, const std::string& directory) {
  fs::create_directories(root / directory);
  return PathBelow(root.path(), root / directory);
}

TEST(PathBelowTest, TheNamesThatLeadThere) {
  const TempDir root;
  EXPECT_TRUE(PathBelow(root.path(), root.path()).valid);
  const SharedPath path = Below(root, "a/b-1.x");
  EXPECT_TRUE(path.valid);
  EXPECT_THAT(path.names, ElementsAre("a", "b-1.x"));
  EXPECT_EQ(path.why, "");
  fs::create_directory_symlink("a", root / "link");
  EXPECT_THAT(PathBelow(root.path(), root / "link").names, ElementsAre("a"));
}

TEST(PathBelowTest, ElsewhereIsNotBelow) {
  const TempDir root;
  const TempDir other;
  EXPECT_FALSE(PathBelow(root.path(), other.path()).valid);
  EXPECT_FALSE(PathBelow("", other.path()).valid);
  EXPECT_FALSE(PathBelow(root.path(), root / "missing").valid);
}

// They answer InvalidArgument, which would fail every save and restore.
TEST(PathBelowTest, NamesThatServersRefuseAreNotForThem) {
  const TempDir root;
  for (const std::string name : {"lr=0.1", "my runs", ".hidden"}) {
    const SharedPath path = Below(root, name + "/ckpt");
    EXPECT_FALSE(path.valid) << name;
    EXPECT_THAT(path.names, IsEmpty());
    EXPECT_THAT(path.why, HasSubstr(name));
  }
}

TEST(PathBelowTest, ThereIsALimitOfLevels) {
  const TempDir root;
  std::string directory = "a";
  for (size_t levels = 1; levels < kMostDirectoryNames; ++levels) {
    EXPECT_TRUE(Below(root, directory).valid) << levels;
    directory += "/a";
  }
  const SharedPath path = Below(root, directory);
  EXPECT_FALSE(path.valid);
  EXPECT_THAT(path.why, HasSubstr("16 levels"));
}

}  // namespace
}  // namespace capstan

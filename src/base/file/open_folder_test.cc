#include "base/file/open_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "capstan/error.h"
#include "testing/temp_dir.h"

namespace capstan {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::TempDir;

constexpr fs::perms kOpenToAll =
    fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec |
    fs::perms::others_read | fs::perms::others_exec;

fs::perms ModeOf(const std::string& path) {
  return fs::status(path).permissions();
}

TEST(OpenFolderTest, WhatIsMadeIsForItsOwnerAlone) {
  const TempDir dir;
  for (const std::string& path : {dir / "a/b", dir / "c/"}) {
    const mode_t before = umask(0);
    OpenFolder(path, IfMissing::kCreate);
    umask(before);
    EXPECT_EQ(ModeOf(path), fs::perms::owner_all) << path;
  }
  EXPECT_EQ(ModeOf(dir / "a"), fs::perms::owner_all);
}

TEST(OpenFolderTest, WhatIsThereKeepsItsMode) {
  const TempDir dir;
  fs::create_directory(dir / "a");
  fs::permissions(dir / "a", kOpenToAll);
  OpenFolder(dir / "a", IfMissing::kCreate);
  OpenFolder(dir / "a/b", IfMissing::kCreate);
  EXPECT_EQ(ModeOf(dir / "a"), kOpenToAll);
  EXPECT_EQ(ModeOf(dir / "a/b"), fs::perms::owner_all);
}

TEST(OpenFolderTest, AUsersPathMayHaveLinksAndDots) {
  const TempDir dir;
  fs::create_directory(dir / "a");
  fs::create_directory_symlink("a", dir / "link");
  OpenFolder(dir / "link/../link/./b/c", IfMissing::kCreate);
  EXPECT_TRUE(fs::is_directory(dir / "a/b/c"));
}

TEST(OpenFolderTest, WhatCannotBeHadIsNamed) {
  const TempDir dir;
  const auto what = [](const std::string& path, IfMissing if_missing) {
    try {
      OpenFolder(path, if_missing);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  EXPECT_THAT(what(dir / "no", IfMissing::kFail), HasSubstr(dir / "no"));
  EXPECT_FALSE(fs::exists(dir / "no"));
  { std::ofstream file(dir / "file"); }
  EXPECT_THAT(what(dir / "file", IfMissing::kCreate), HasSubstr(dir / "file"));
  EXPECT_THAT(what(dir / "file/a", IfMissing::kCreate),
              HasSubstr(dir / "file/a"));
  fs::create_directory_symlink("nowhere", dir / "link");
  EXPECT_THAT(what(dir / "link/a", IfMissing::kCreate), HasSubstr("link"));
}

TEST(OpenFolderTest, ANameCanBeSyncedWhereverItIs) {
  const TempDir dir;
  for (const std::string& path : {dir.path(), dir / "no", std::string("/"),
                                  std::string(), std::string(".")}) {
    SyncNameOf(path);
  }
}

}  // namespace
}  // namespace capstan

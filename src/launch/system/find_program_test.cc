#include "launch/system/find_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace capstan {
namespace {

using ::capstan::testing::IsOkAndHolds;
using ::capstan::testing::StatusIs;
using ::capstan::testing::TempDir;

void Create(const std::string& path, mode_t mode) {
  std::ofstream(path) << "#!/bin/sh\n";
  ASSERT_EQ(chmod(path.c_str(), mode), 0);
}

TEST(FindProgramTest, LooksInTheFoldersInOrder) {
  const TempDir first;
  const TempDir second;
  const std::string path = first.path() + ":" + second.path();
  EXPECT_THAT(FindProgram("train", path),
              StatusIs(absl::StatusCode::kNotFound));
  Create(second / "train", 0700);
  EXPECT_THAT(FindProgram("train", path), IsOkAndHolds(second / "train"));
  // As in a shell, a file that cannot be executed does not hide one that can.
  Create(first / "train", 0600);
  EXPECT_THAT(FindProgram("train", path), IsOkAndHolds(second / "train"));
  ASSERT_EQ(chmod((first / "train").c_str(), 0700), 0);
  EXPECT_THAT(FindProgram("train", path), IsOkAndHolds(first / "train"));
}

TEST(FindProgramTest, ANameWithASlashIsAPath) {
  const TempDir dir;
  Create(dir / "train", 0700);
  EXPECT_THAT(FindProgram(dir / "train", ""), IsOkAndHolds(dir / "train"));
  EXPECT_THAT(FindProgram(dir / "other", dir.path()),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST(FindProgramTest, SaysWhyNot) {
  const TempDir dir;
  Create(dir / "data", 0600);
  EXPECT_EQ(FindProgram("data", dir.path()).status().message(),
            "cannot run " + dir / "data" + ": not an executable file");
  EXPECT_EQ(CannotRunExitCode(FindProgram("data", dir.path()).status()), 126);
  EXPECT_EQ(CannotRunExitCode(FindProgram(dir.path(), "").status()), 126);
  EXPECT_EQ(CannotRunExitCode(FindProgram("none", dir.path()).status()), 127);
  EXPECT_EQ(CannotRunExitCode(FindProgram("", dir.path()).status()), 127);
  EXPECT_EQ(FindProgram("none", dir.path()).status().message(),
            "cannot run none: no such program in PATH");
}

}  // namespace
}  // namespace capstan

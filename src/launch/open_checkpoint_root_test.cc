#include "launch/open_checkpoint_root.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::StatusIs;
using testing::TempDir;

TEST(OpenCheckpointRootTest, MadeForItsOwnerAlone) {
  const TempDir dir;
  for (const std::string& path : {dir / "a", dir / "b/"}) {
    const auto files = OpenCheckpointRoot(path);
    ASSERT_OK(files);
    EXPECT_OK((*files)->CreateDir("ckpt-1"));
    EXPECT_EQ(std::filesystem::status(path).permissions(),
              std::filesystem::perms::owner_all);
    // Existing contents stay.
    EXPECT_OK((*OpenCheckpointRoot(path))->Stat("ckpt-1"));
  }
}

TEST(OpenCheckpointRootTest, WhatCannotBeHadIsNamed) {
  const TempDir dir;
  EXPECT_THAT(
      OpenCheckpointRoot(dir / "missing/root"),
      StatusIs(absl::StatusCode::kNotFound,
               AllOf(HasSubstr("--checkpoint-dir"), HasSubstr("missing"))));
  ASSERT_OK((*OpenCheckpointRoot(dir.path()))
                ->CreateForWrite("file", IfExists::kFail)
                .status());
  EXPECT_THAT(OpenCheckpointRoot(dir / "file"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("--checkpoint-dir")));
}

}  // namespace
}  // namespace capstan

#include "launch/local/run_result.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "launch/local/run_folder.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace capstan {
namespace {

using ::capstan::testing::StatusIs;
using ::capstan::testing::TempDir;

// 2023-11-14 22:13:20.5 UTC.
constexpr WallTime kEnd(std::chrono::milliseconds(1'700'000'000'500));

TEST(RunResultTest, IsReadAsItWasWritten) {
  const RunResult result = {137, EndText(kEnd), "ps/0 was killed\nby SIGKILL"};
  const std::string text = FormatRunResult(result);
  EXPECT_EQ(text,
            "exit_code: 137\nended: 2023-11-14 22:13:20 UTC\n"
            "reason: ps/0 was killed\\x0aby SIGKILL\n");
  const absl::StatusOr<RunResult> read = ParseRunResult(text);
  ASSERT_OK(read);
  EXPECT_EQ(read->exit_code, 137);
  EXPECT_EQ(read->ended, "2023-11-14 22:13:20 UTC");
  EXPECT_EQ(read->reason, "ps/0 was killed\\x0aby SIGKILL");
}

TEST(RunResultTest, NothingFailed) {
  const absl::StatusOr<RunResult> read =
      ParseRunResult(FormatRunResult({0, EndText(kEnd), ""}));
  ASSERT_OK(read);
  EXPECT_EQ(read->exit_code, 0);
  EXPECT_EQ(read->reason, "");
}

TEST(RunResultTest, WhatIsNoResult) {
  for (const std::string text :
       {"", "exit_code: 1\n", "ended: now\n", "exit_code: x\nended: now\n",
        "exit_code: 1x\nended: now\n",
        "exit_code: 99999999999\nended: now\n"}) {
    EXPECT_THAT(ParseRunResult(text),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << text;
  }
}

TEST(RunResultTest, IsInTheFolderOfTheRun) {
  const TempDir dir;
  absl::StatusOr<RunFolder> folder = RunFolder::Create(dir.path(), kEnd, 1778);
  ASSERT_OK(folder);
  const std::string cluster = dir / (folder->path() + "/cluster.yaml");
  EXPECT_THAT(ReadRunResult(cluster), StatusIs(absl::StatusCode::kNotFound));
  ASSERT_OK(folder->WriteResult({3, EndText(kEnd), "oops"}));
  const absl::StatusOr<RunResult> read = ReadRunResult(cluster);
  ASSERT_OK(read);
  EXPECT_EQ(read->exit_code, 3);
  EXPECT_THAT(ReadRunResult(dir / "none/cluster.yaml"),
              StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace capstan

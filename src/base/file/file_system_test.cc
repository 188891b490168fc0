#include "base/file/file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/random.h"
#include "base/status.h"
#include "simulation/sim_file_system.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::capstan::testing::IsOk;
using ::capstan::testing::IsOkAndHolds;
using ::capstan::testing::StatusIs;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(PathTest, JoinAndSplit) {
  EXPECT_EQ(JoinPath("a/b", "c"), "a/b/c");
  EXPECT_EQ(JoinPath("", "c"), "c");
  EXPECT_EQ(DirectoryOf("a/b/c"), "a/b");
  EXPECT_EQ(DirectoryOf("c"), "");
  EXPECT_EQ(NameOf("a/b/c"), "c");
  EXPECT_EQ(NameOf("c"), "c");
  EXPECT_EQ(DirectoryOf(""), "");
  EXPECT_EQ(NameOf(""), "");
}

TEST(PathTest, ValidateNamesThePath) {
  EXPECT_OK(ValidatePath(""));
  EXPECT_OK(ValidatePath("a/b.c/-d"));
  EXPECT_THAT(
      ValidatePath("a/../b"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"a/../b\"")));
}

TEST(ReadFileTest, LimitIsInclusive) {
  SimFileSystem files;
  ASSERT_OK(ReplaceFile(files, "a", AsBytes("12345")));
  EXPECT_THAT(ReadFile(files, "a", 5), IsOkAndHolds("12345"));
  EXPECT_THAT(
      ReadFile(files, "a", 4),
      StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("5 bytes")));
  EXPECT_THAT(ReadFile(files, "b", 4), StatusIs(absl::StatusCode::kNotFound));
}

TEST(ReplaceFileTest, ReplacesAndLeavesNothingElse) {
  SimFileSystem files;
  ASSERT_OK(files.CreateDir("d"));
  ASSERT_OK(ReplaceFile(files, "d/a", AsBytes("one")));
  ASSERT_OK(ReplaceFile(files, "d/a", AsBytes("two")));
  EXPECT_THAT(ReadFile(files, "d/a", 10), IsOkAndHolds("two"));
  EXPECT_THAT(files.List("d"), IsOkAndHolds(ElementsAre("a")));
}

TEST(ReplaceFileTest, RemovesWhatACrashLeft) {
  SimFileSystem files;
  ASSERT_OK(files.CreateForWrite("a.tmp", IfExists::kFail));
  ASSERT_OK(ReplaceFile(files, "a", AsBytes("one")));
  EXPECT_THAT(files.List(""), IsOkAndHolds(ElementsAre("a")));
}

TEST(ReplaceFileTest, RefusesADirectory) {
  SimFileSystem files;
  ASSERT_OK(files.CreateDir("d"));
  EXPECT_THAT(ReplaceFile(files, "d", AsBytes("x")),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(files.List(""), IsOkAndHolds(ElementsAre("d")));
  EXPECT_THAT(ReplaceFile(files, "", AsBytes("x")),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

// At every byte budget, either the old content is left or the new is in place.
TEST(ReplaceFileTest, FullDiskLeavesTheOld) {
  const std::string old_content(30, 'o');
  const std::string new_content(40, 'n');
  for (uint64_t capacity = 0; capacity <= 80; ++capacity) {
    SimFileSystem files;
    ASSERT_OK(ReplaceFile(files, "a", AsBytes(old_content)));
    files.SetCapacity(capacity);
    const absl::Status status = ReplaceFile(files, "a", AsBytes(new_content));
    if (capacity >= 70) {
      EXPECT_OK(status);
      EXPECT_THAT(ReadFile(files, "a", 99), IsOkAndHolds(new_content));
    } else {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                                   HasSubstr("a.tmp")));
      EXPECT_THAT(ReadFile(files, "a", 99), IsOkAndHolds(old_content));
    }
    EXPECT_THAT(files.List(""), IsOkAndHolds(ElementsAre("a")));
  }
}

TEST(ReplaceFileTest, EveryFailureIsReportedAndLeavesOldOrNew) {
  SimFileSystem probe;
  ASSERT_OK(ReplaceFile(probe, "a", AsBytes("old")));
  const uint64_t first = probe.operations() + 1;
  ASSERT_OK(ReplaceFile(probe, "a", AsBytes("new")));
  const uint64_t last = probe.operations();
  for (uint64_t number = first; number <= last; ++number) {
    SimFileSystem files;
    ASSERT_OK(ReplaceFile(files, "a", AsBytes("old")));
    files.FailOperation(number, absl::DataLossError("planted"));
    EXPECT_THAT(ReplaceFile(files, "a", AsBytes("new")),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("planted")));
    EXPECT_THAT(ReadFile(files, "a", 10),
                IsOkAndHolds(number == last ? "new" : "old"));
  }
}

using Replace =
    std::function<absl::Status(FileSystem&, std::string_view, Bytes)>;

// Kills `replace` at each of its operations, cuts power, and counts how often
// what is left breaks the promise of ReplaceFile.
int CountViolations(const Replace& replace) {
  const std::string old_content(700, 'o');
  const std::string new_content(1500, 'n');
  int violations = 0;
  bool finished = false;
  for (uint64_t step = 1; !finished; ++step) {
    for (uint64_t seed = 0; seed < 200; ++seed) {
      SimFileSystem files;
      EXPECT_OK(ReplaceFile(files, "a", AsBytes(old_content)));
      files.FailFrom(files.operations() + step, absl::AbortedError("killed"));
      const absl::Status status = replace(files, "a", AsBytes(new_content));
      finished = status.ok();
      Random random(seed);
      files.Crash(random);
      files.ClearFailures();
      const auto found = ReadFile(files, "a", 10'000);
      const bool is_new = found.ok() && *found == new_content;
      const bool is_old = found.ok() && *found == old_content;
      if (status.ok() ? !is_new : !is_new && !is_old) ++violations;
      // And the next attempt succeeds.
      EXPECT_OK(ReplaceFile(files, "a", AsBytes(new_content)));
    }
  }
  return violations;
}

TEST(ReplaceFileTest, SurvivesPowerLossAtEveryOperation) {
  EXPECT_EQ(CountViolations(&ReplaceFile), 0);
}

// ReplaceFile with one step left out: the check above must detect each
// omission.
absl::Status ReplaceWithout(std::string_view left_out, FileSystem& files,
                            std::string_view path, Bytes content) {
  const std::string temporary =
      left_out == "temporary" ? std::string(path) : std::string(path) + ".new";
  auto file = files.CreateForWrite(temporary, IfExists::kTruncate);
  CAPSTAN_RETURN_IF_ERROR(file.status());
  CAPSTAN_RETURN_IF_ERROR((*file)->Append(content));
  if (left_out != "sync") CAPSTAN_RETURN_IF_ERROR((*file)->Sync());
  CAPSTAN_RETURN_IF_ERROR((*file)->Close());
  CAPSTAN_RETURN_IF_ERROR(files.Rename(temporary, path));
  if (left_out != "sync directory") {
    CAPSTAN_RETURN_IF_ERROR(files.SyncDir(DirectoryOf(path)));
  }
  return absl::OkStatus();
}

TEST(ReplaceFileTest, PlantedBugsAreFound) {
  for (std::string_view left_out : {"temporary", "sync", "sync directory"}) {
    EXPECT_GT(CountViolations(
                  [&](FileSystem& files, std::string_view path, Bytes content) {
                    return ReplaceWithout(left_out, files, path, content);
                  }),
              0)
        << left_out;
  }
  EXPECT_EQ(CountViolations(
                [](FileSystem& files, std::string_view path, Bytes content) {
                  return ReplaceWithout("nothing", files, path, content);
                }),
            0);
}

}  // namespace
}  // namespace capstan

#include "checkpoint/directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_format.h"
#include "base/crc32c.h"
#include "base/file/posix_file_system.h"
#include "checkpoint/checkpoint_name.h"
#include "checkpoint/small_checkpoint_test.h"
#include "simulation/sim_file_system.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace capstan {
namespace {

using ::capstan::testing::IsOkAndHolds;
using ::capstan::testing::SaveSmall;
using ::capstan::testing::StatusIs;
using ::capstan::testing::TempDir;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using absl::StatusCode::kDataLoss;
using absl::StatusCode::kNotFound;

TEST(CheckpointNameTest, Numbers) {
  EXPECT_EQ(CheckpointName(12), "ckpt-12");
  EXPECT_EQ(CheckpointNumber("ckpt-12"), 12u);
  EXPECT_EQ(CheckpointNumber("ckpt-0"), 0u);
  EXPECT_EQ(CheckpointNumber("ckpt-999999999999999999"), 999999999999999999u);
  for (const char* name : {"ckpt-", "ckpt-012", "ckpt-+1", "ckpt--1", "ckpt- 1",
                           "ckpt-1000000000000000000", "ckpt-1x", "Ckpt-1",
                           ".tmp-ckpt-1", "best", ""}) {
    EXPECT_FALSE(CheckpointNumber(name)) << name;
  }
}

// Behaves the same on both file systems.
void ExpectLife(FileSystem& files) {
  constexpr std::string_view kDir = "runs/a";
  EXPECT_THAT(ListCheckpoints(files, kDir), StatusIs(kNotFound));
  ASSERT_OK(PrepareDirectory(files, kDir));
  ASSERT_OK(PrepareDirectory(files, kDir));
  EXPECT_THAT(ListCheckpoints(files, kDir), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(NewestCheckpoint(files, kDir, nullptr),
              StatusIs(kNotFound, HasSubstr("\"runs/a\" holds no checkpoint")));
  for (uint64_t i = 1; i <= 11; ++i) {
    const auto saved = SaveSmall(files, kDir, {.seed = i, .step = i});
    ASSERT_OK(saved);
    EXPECT_EQ(saved->name, CheckpointName(i));
    EXPECT_EQ(saved->number, i);
    EXPECT_OK(
        VerifyCheckpoint(files, JoinPath(kDir, saved->name), saved->manifest));
  }
  ASSERT_OK(RemoveCheckpoint(files, kDir, "ckpt-3"));
  EXPECT_THAT(ListCheckpoints(files, kDir),
              IsOkAndHolds(ElementsAre("ckpt-1", "ckpt-2", "ckpt-4", "ckpt-5",
                                       "ckpt-6", "ckpt-7", "ckpt-8", "ckpt-9",
                                       "ckpt-10", "ckpt-11")));
  EXPECT_THAT(RemoveCheckpoint(files, kDir, "ckpt-3"), StatusIs(kNotFound));
  const auto newest = NewestCheckpoint(files, kDir, nullptr);
  ASSERT_OK(newest);
  EXPECT_EQ(newest->manifest.step, 11u);
}

TEST(DirectoryTest, LifeSimulated) {
  SimFileSystem files;
  ExpectLife(files);
}

TEST(DirectoryTest, LifeOnDisk) {
  const TempDir dir;
  const auto files = PosixFileSystem::Open(dir.path());
  ASSERT_OK(files);
  ExpectLife(**files);
  // Accessible to the owner only.
  EXPECT_EQ((*files)->Stat("runs/a/ckpt-1")->mode, 0700u);
  EXPECT_EQ((*files)->Stat("runs/a/ckpt-1/manifest.json")->mode, 0600u);
  EXPECT_EQ((*files)->Stat("runs/a/ckpt-1/server-0.safetensors")->mode, 0600u);
}

TEST(DirectoryTest, RootOfTheFileSystem) {
  SimFileSystem files;
  ASSERT_OK(PrepareDirectory(files, ""));
  ASSERT_OK(SaveSmall(files, "", {}));
  EXPECT_THAT(ListCheckpoints(files, ""), IsOkAndHolds(ElementsAre("ckpt-1")));
}

TEST(DirectoryTest, PrepareRemovesWhatACrashLeft) {
  SimFileSystem files;
  ASSERT_OK(PrepareDirectory(files, "d"));
  ASSERT_OK(SaveSmall(files, "d", {}));
  for (const char* path :
       {"d/.tmp-ckpt-2", "d/.tmp-ckpt-2/sub", "d/.old-ckpt-7", "d/.tmp-mine",
        "d/.old-ckpt-x", "d/best"}) {
    ASSERT_OK(files.CreateDir(path));
  }
  for (const char* path :
       {"d/.tmp-ckpt-2/f", "d/.tmp-ckpt-2/sub/g", "d/.old-ckpt-7/f"}) {
    ASSERT_OK(files.CreateForWrite(path, IfExists::kFail).status());
  }
  // As long as they exist, their numbers are not reused.
  const auto begun = BeginCheckpoint(files, "d");
  ASSERT_OK(begun);
  EXPECT_EQ(begun->name, "ckpt-8");
  EXPECT_EQ(begun->path, "d/.tmp-ckpt-8");
  ASSERT_OK(PrepareDirectory(files, "d"));
  // Files of others are kept.
  EXPECT_THAT(
      files.List("d"),
      IsOkAndHolds(ElementsAre(".old-ckpt-x", ".tmp-mine", "best", "ckpt-1")));
}

TEST(DirectoryTest, PrepareRefusesAFile) {
  SimFileSystem files;
  ASSERT_OK(files.CreateForWrite("d", IfExists::kFail).status());
  EXPECT_THAT(PrepareDirectory(files, "d"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("where a directory is wanted")));
  EXPECT_THAT(PrepareDirectory(files, "d/e"),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST(DirectoryTest, AbandonLeavesNothing) {
  SimFileSystem files;
  ASSERT_OK(PrepareDirectory(files, "d"));
  const auto begun = BeginCheckpoint(files, "d");
  ASSERT_OK(begun);
  ASSERT_OK(testing::WriteSmallFiles(files, begun->path, {}));
  EXPECT_THAT(ListCheckpoints(files, "d"), IsOkAndHolds(IsEmpty()));
  ASSERT_OK(AbandonCheckpoint(files, *begun));
  EXPECT_THAT(files.List("d"), IsOkAndHolds(IsEmpty()));
  EXPECT_OK(AbandonCheckpoint(files, *begun));
}

TEST(DirectoryTest, CommitRefusesWhatWouldNotOpen) {
  SimFileSystem files;
  ASSERT_OK(PrepareDirectory(files, "d"));
  const auto begun = BeginCheckpoint(files, "d");
  ASSERT_OK(begun);
  const auto manifest = testing::WriteSmallFiles(files, begun->path, {});
  ASSERT_OK(manifest);
  Manifest wrong = *manifest;
  wrong.files[1].bytes += 1;
  EXPECT_THAT(CommitCheckpoint(files, *begun, wrong),
              StatusIs(kDataLoss, AllOf(HasSubstr("commit checkpoint"),
                                        HasSubstr("d/ckpt-1"),
                                        HasSubstr("server-1.safetensors"))));
  wrong = *manifest;
  wrong.variables[0].shards[0].end = 2;
  EXPECT_THAT(CommitCheckpoint(files, *begun, wrong),
              StatusIs(kDataLoss, HasSubstr("embedding")));
  wrong = *manifest;
  wrong.records["x"] = "\xff";
  EXPECT_THAT(CommitCheckpoint(files, *begun, wrong),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ListCheckpoints(files, "d"), IsOkAndHolds(IsEmpty()));
  EXPECT_OK(CommitCheckpoint(files, *begun, *manifest));
  EXPECT_THAT(ListCheckpoints(files, "d"), IsOkAndHolds(ElementsAre("ckpt-1")));
}

class DamagedDirectoryTest : public ::testing::Test {
 protected:
  DamagedDirectoryTest() {
    EXPECT_OK(PrepareDirectory(files_, "d"));
    for (uint64_t i = 1; i <= 3; ++i) {
      EXPECT_OK(SaveSmall(files_, "d", {.seed = i, .step = i}));
    }
  }

  void Replace(std::string_view path, std::string_view content) {
    ASSERT_OK(ReplaceFile(files_, path, AsBytes(content)));
  }

  SimFileSystem files_;
};

TEST_F(DamagedDirectoryTest, NewestPassesOverBadOnes) {
  Replace("d/ckpt-3/manifest.json", "{}");
  ASSERT_OK(files_.Remove("d/ckpt-2/server-1.safetensors"));
  ASSERT_OK(files_.CreateDir("d/ckpt-4"));
  Replace("d/ckpt-5", "a file");
  std::vector<std::string> damaged;
  const auto newest = NewestCheckpoint(files_, "d", &damaged);
  ASSERT_OK(newest);
  EXPECT_EQ(newest->name, "ckpt-1");
  EXPECT_THAT(
      damaged,
      ElementsAre(
          HasSubstr("d/ckpt-5"),
          AllOf(HasSubstr("d/ckpt-4"), HasSubstr("it has no manifest.json")),
          AllOf(HasSubstr("d/ckpt-3"), HasSubstr("manifest.json: 2 bytes")),
          AllOf(HasSubstr("d/ckpt-2"),
                HasSubstr("\"server-1.safetensors\" is missing"))));
  ASSERT_OK(files_.Remove("d/ckpt-1/manifest.json"));
  EXPECT_THAT(NewestCheckpoint(files_, "d", nullptr),
              StatusIs(kNotFound, HasSubstr("holds no sound checkpoint")));
}

// Otherwise a moment without file descriptors would cost hours of work.
TEST_F(DamagedDirectoryTest, NewestDoesNotPassOverAnErrorOfTheMoment) {
  files_.FailOperation(files_.operations() + 2,
                       absl::ResourceExhaustedError("too many open files"));
  EXPECT_THAT(NewestCheckpoint(files_, "d", nullptr),
              StatusIs(absl::StatusCode::kResourceExhausted));
  files_.FailOperation(files_.operations() + 2,
                       absl::UnavailableError("stale file handle"));
  EXPECT_THAT(NewestCheckpoint(files_, "d", nullptr),
              StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(DamagedDirectoryTest, NewestDoesNotPassOverOneOfANewerVersion) {
  std::string text = *ReadFile(files_, "d/ckpt-3/manifest.json", 1 << 20);
  const std::string version = "\"version\": 1";
  text.replace(text.find(version), version.size(), "\"version\": 9");
  // Its checksum is right.
  const size_t tail = text.rfind(",\n  \"crc32c\"");
  text.replace(text.rfind(": \"") + 3, 8,
               absl::StrFormat("%08x", Crc32c(AsBytes(text.substr(0, tail)))));
  Replace("d/ckpt-3/manifest.json", text);
  EXPECT_THAT(NewestCheckpoint(files_, "d", nullptr),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("d/ckpt-3"), HasSubstr("version"))));
}

TEST_F(DamagedDirectoryTest, OpenSaysWhatIsWrong) {
  EXPECT_THAT(OpenCheckpoint(files_, "d/ckpt-9"),
              StatusIs(kNotFound, HasSubstr("d/ckpt-9")));
  Replace("d/ckpt-1/server-0.safetensors", "short");
  EXPECT_THAT(OpenCheckpoint(files_, "d/ckpt-1"),
              StatusIs(kDataLoss,
                       AllOf(HasSubstr("\"server-0.safetensors\" has 5 bytes"),
                             HasSubstr("d/ckpt-1"))));
  ASSERT_OK(files_.Remove("d/ckpt-2/server-0.safetensors"));
  ASSERT_OK(files_.CreateDir("d/ckpt-2/server-0.safetensors"));
  EXPECT_THAT(OpenCheckpoint(files_, "d/ckpt-2"),
              StatusIs(kDataLoss, HasSubstr("is not a file")));
}

TEST_F(DamagedDirectoryTest, VerifyNamesEachBadFile) {
  const auto checkpoint = OpenCheckpoint(files_, "d/ckpt-1");
  ASSERT_OK(checkpoint);
  for (const SavedFile& file : checkpoint->manifest.files) {
    const std::string path = JoinPath("d/ckpt-1", file.name);
    std::string content = *ReadFile(files_, path, 1 << 20);
    content.back() = static_cast<char>(content.back() ^ 1);
    Replace(path, content);
  }
  EXPECT_THAT(
      VerifyCheckpoint(files_, "d/ckpt-1", checkpoint->manifest),
      StatusIs(kDataLoss, AllOf(HasSubstr("d/ckpt-1/server-0.safetensors"),
                                HasSubstr("tensor \"on[0:5]\""),
                                HasSubstr("d/ckpt-1/server-1.safetensors"),
                                HasSubstr("tensor \"embedding[3:7].v\""))));
}

// All checksums are right, but the file's tensors are not those that the
// manifest describes.
TEST_F(DamagedDirectoryTest, VerifyComparesShapesAndTypes) {
  const auto checkpoint = OpenCheckpoint(files_, "d/ckpt-1");
  ASSERT_OK(checkpoint);
  Manifest other = checkpoint->manifest;
  other.variables[1].dtype = DType::kF64;
  EXPECT_THAT(VerifyCheckpoint(files_, "d/ckpt-1", other),
              StatusIs(kDataLoss, AllOf(HasSubstr("server-1.safetensors"),
                                        HasSubstr("tensor \"ids[0:2]\""),
                                        HasSubstr("by the manifest"))));
  other = checkpoint->manifest;
  other.variables[1].shape = Shape({2, 1, 3});
  EXPECT_THAT(VerifyCheckpoint(files_, "d/ckpt-1", other),
              StatusIs(kDataLoss, HasSubstr("tensor \"ids[0:2]\"")));
}

TEST_F(DamagedDirectoryTest, RemoveTakesNamesOfCheckpointsOnly) {
  for (const char* name : {"", "..", "best", "ckpt-1/..", ".tmp-ckpt-1"}) {
    EXPECT_THAT(RemoveCheckpoint(files_, "d", name),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << name;
  }
  // A checkpoint whose earlier removal was incomplete.
  ASSERT_OK(files_.CreateDir("d/.old-ckpt-1"));
  ASSERT_OK(files_.CreateForWrite("d/.old-ckpt-1/f", IfExists::kFail).status());
  EXPECT_OK(RemoveCheckpoint(files_, "d", "ckpt-1"));
  EXPECT_THAT(files_.List("d"), IsOkAndHolds(ElementsAre("ckpt-2", "ckpt-3")));
}

}  // namespace
}  // namespace capstan

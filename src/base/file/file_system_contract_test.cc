#include "base/file/file_system_contract_test.h"

#include <gmock/gmock.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "testing/status_matchers.h"

namespace capstan {

using ::capstan::testing::IsOkAndHolds;
using ::capstan::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using absl::StatusCode::kAlreadyExists;
using absl::StatusCode::kFailedPrecondition;
using absl::StatusCode::kInvalidArgument;
using absl::StatusCode::kNotFound;
constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

void FileSystemContractTest::Write(std::string_view path,
                                   std::string_view content) {
  auto file = files_.CreateForWrite(path, IfExists::kTruncate);
  ASSERT_OK(file);
  ASSERT_OK((*file)->Append(AsBytes(content)));
  ASSERT_OK((*file)->Close());
}

std::string FileSystemContractTest::Read(std::string_view path) const {
  const absl::StatusOr<std::string> content = ReadFile(files_, path, kNoLimit);
  return content.ok() ? *content : Describe(content.status());
}

TEST_P(FileSystemContractTest, StartsEmpty) {
  EXPECT_THAT(files_.List(""), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(files_.Exists(""), IsOkAndHolds(true));
  const absl::StatusOr<FileInfo> info = files_.Stat("");
  ASSERT_OK(info);
  EXPECT_EQ(info->kind, FileKind::kDirectory);
  EXPECT_OK(files_.SyncDir(""));
}

TEST_P(FileSystemContractTest, WhatIsWrittenIsRead) {
  auto file = files_.CreateForWrite("a", IfExists::kFail);
  ASSERT_OK(file);
  EXPECT_OK((*file)->Append(AsBytes("hello")));
  EXPECT_EQ(Read("a"), "hello");
  EXPECT_OK((*file)->Append({}));
  EXPECT_OK((*file)->Append(AsBytes(", world")));
  EXPECT_OK((*file)->Sync());
  EXPECT_OK((*file)->Close());
  EXPECT_EQ(Read("a"), "hello, world");
}

TEST_P(FileSystemContractTest, NewFileIsEmptyAndPrivate) {
  Write("a", "");
  const absl::StatusOr<FileInfo> info = files_.Stat("a");
  ASSERT_OK(info);
  EXPECT_EQ(info->kind, FileKind::kFile);
  EXPECT_EQ(info->size, 0u);
  EXPECT_EQ(info->mode, 0600u);
  EXPECT_EQ(Read("a"), "");
}

TEST_P(FileSystemContractTest, StatTellsTheSize) {
  Write("a", "12345");
  const absl::StatusOr<FileInfo> info = files_.Stat("a");
  ASSERT_OK(info);
  EXPECT_EQ(info->size, 5u);
  const auto file = files_.OpenForRead("a");
  ASSERT_OK(file);
  EXPECT_THAT((*file)->Size(), IsOkAndHolds(5u));
}

TEST_P(FileSystemContractTest, ExclusiveCreateRefusesWhatIsThere) {
  Write("a", "old");
  EXPECT_THAT(files_.CreateForWrite("a", IfExists::kFail),
              StatusIs(kAlreadyExists, HasSubstr("a")));
  EXPECT_EQ(Read("a"), "old");
  ASSERT_OK(files_.CreateDir("d"));
  EXPECT_THAT(files_.CreateForWrite("d", IfExists::kFail),
              StatusIs(kAlreadyExists));
}

TEST_P(FileSystemContractTest, TruncatingCreateDropsTheContent) {
  Write("a", "a long old content");
  Write("a", "new");
  EXPECT_EQ(Read("a"), "new");
}

TEST_P(FileSystemContractTest, AppendAddsToWhatIsThere) {
  Write("a", "one");
  auto file = files_.OpenForAppend("a");
  ASSERT_OK(file);
  EXPECT_OK((*file)->Append(AsBytes("two")));
  EXPECT_OK((*file)->Close());
  EXPECT_EQ(Read("a"), "onetwo");
  EXPECT_THAT(files_.OpenForAppend("b"), StatusIs(kNotFound, HasSubstr("b")));
  EXPECT_THAT(files_.Exists("b"), IsOkAndHolds(false));
}

TEST_P(FileSystemContractTest, ReadAtReadsAnyPart) {
  Write("a", "0123456789");
  const auto file = files_.OpenForRead("a");
  ASSERT_OK(file);
  const auto read = [&](uint64_t offset, size_t count) {
    std::string text(count, '?');
    const absl::StatusOr<size_t> got = (*file)->ReadAt(
        offset, std::as_writable_bytes(std::span(text.data(), count)));
    EXPECT_OK(got);
    return text.substr(0, got.value_or(0));
  };
  EXPECT_EQ(read(0, 10), "0123456789");
  EXPECT_EQ(read(3, 4), "3456");
  EXPECT_EQ(read(7, 100), "789");
  EXPECT_EQ(read(10, 1), "");
  EXPECT_EQ(read(11, 1), "");
  EXPECT_EQ(read(5, 0), "");
  for (uint64_t far : {uint64_t{1} << 32, uint64_t{1} << 62,
                       (uint64_t{1} << 63) - 1, uint64_t{1} << 63, kNoLimit}) {
    EXPECT_EQ(read(far, 5), "");
  }
}

TEST_P(FileSystemContractTest, LargeFileIsWhole) {
  // An odd size, so that no piece ends at a block boundary.
  std::string text(1'000'003, '\0');
  Random random(1);
  for (char& c : text) c = static_cast<char>(random.NextU64());
  auto file = files_.CreateForWrite("a", IfExists::kFail);
  ASSERT_OK(file);
  for (size_t start = 0; start < text.size(); start += 70'001) {
    EXPECT_OK(
        (*file)->Append(AsBytes(std::string_view(text).substr(start, 70'001))));
  }
  EXPECT_OK((*file)->Sync());
  EXPECT_TRUE(Read("a") == text);
}

TEST_P(FileSystemContractTest, ClosedFileRefusesEverything) {
  auto file = files_.CreateForWrite("a", IfExists::kFail);
  ASSERT_OK(file);
  EXPECT_OK((*file)->Close());
  EXPECT_THAT((*file)->Append(AsBytes("x")), StatusIs(kFailedPrecondition));
  EXPECT_THAT((*file)->Sync(), StatusIs(kFailedPrecondition));
  EXPECT_THAT((*file)->Close(), StatusIs(kFailedPrecondition, HasSubstr("a")));
  EXPECT_EQ(Read("a"), "");
}

TEST_P(FileSystemContractTest, MissingFileIsNamed) {
  EXPECT_THAT(files_.OpenForRead("no"), StatusIs(kNotFound, HasSubstr("no")));
  EXPECT_THAT(files_.Stat("no"), StatusIs(kNotFound, HasSubstr("no")));
  EXPECT_THAT(files_.Remove("no"), StatusIs(kNotFound, HasSubstr("no")));
  EXPECT_THAT(files_.RemoveDir("no"), StatusIs(kNotFound, HasSubstr("no")));
  EXPECT_THAT(files_.List("no"), StatusIs(kNotFound, HasSubstr("no")));
  EXPECT_THAT(files_.SyncDir("no"), StatusIs(kNotFound, HasSubstr("no")));
  EXPECT_THAT(files_.Rename("no", "x"), StatusIs(kNotFound, HasSubstr("no")));
  EXPECT_THAT(files_.Exists("no"), IsOkAndHolds(false));
}

TEST_P(FileSystemContractTest, MissingDirectoryIsNotFound) {
  EXPECT_THAT(files_.CreateForWrite("d/a", IfExists::kFail),
              StatusIs(kNotFound));
  EXPECT_THAT(files_.CreateForWrite("d/a", IfExists::kTruncate),
              StatusIs(kNotFound));
  EXPECT_THAT(files_.CreateDir("d/e"), StatusIs(kNotFound));
  EXPECT_THAT(files_.Remove("d/a"), StatusIs(kNotFound));
  EXPECT_THAT(files_.Rename("d/a", "d/b"), StatusIs(kNotFound));
  EXPECT_THAT(files_.Exists("d/a"), IsOkAndHolds(false));
}

TEST_P(FileSystemContractTest, FileIsNoDirectory) {
  Write("a", "x");
  EXPECT_THAT(files_.List("a"), StatusIs(kFailedPrecondition));
  EXPECT_THAT(files_.SyncDir("a"), StatusIs(kFailedPrecondition));
  EXPECT_THAT(files_.RemoveDir("a"), StatusIs(kFailedPrecondition));
  EXPECT_THAT(files_.OpenForRead("a/b"), StatusIs(kFailedPrecondition));
  EXPECT_THAT(files_.CreateForWrite("a/b", IfExists::kFail),
              StatusIs(kFailedPrecondition));
  EXPECT_THAT(files_.CreateDir("a/b"), StatusIs(kFailedPrecondition));
  EXPECT_THAT(files_.Remove("a/b"), StatusIs(kFailedPrecondition));
  EXPECT_THAT(files_.Stat("a/b"), StatusIs(kFailedPrecondition));
}

TEST_P(FileSystemContractTest, DirectoryIsNoFile) {
  ASSERT_OK(files_.CreateDir("d"));
  EXPECT_THAT(files_.OpenForRead("d"), StatusIs(kFailedPrecondition));
  EXPECT_THAT(files_.OpenForAppend("d"), StatusIs(kFailedPrecondition));
  EXPECT_THAT(files_.CreateForWrite("d", IfExists::kTruncate),
              StatusIs(kFailedPrecondition));
  EXPECT_THAT(files_.Remove("d"), StatusIs(kFailedPrecondition));
  EXPECT_THAT(files_.OpenForRead(""), StatusIs(kFailedPrecondition));
}

TEST_P(FileSystemContractTest, DirectoriesNestAndAreListedInOrder) {
  ASSERT_OK(files_.CreateDir("d"));
  ASSERT_OK(files_.CreateDir("d/e"));
  Write("d/e/b", "1");
  Write("d/e/a", "2");
  Write("d/e/B", "3");
  Write("d/e/.hidden", "4");
  EXPECT_THAT(files_.List("d/e"),
              IsOkAndHolds(ElementsAre(".hidden", "B", "a", "b")));
  EXPECT_THAT(files_.List("d"), IsOkAndHolds(ElementsAre("e")));
  EXPECT_THAT(files_.List(""), IsOkAndHolds(ElementsAre("d")));
  EXPECT_EQ(Read("d/e/a"), "2");
  EXPECT_OK(files_.SyncDir("d/e"));
  const absl::StatusOr<FileInfo> info = files_.Stat("d/e");
  ASSERT_OK(info);
  EXPECT_EQ(info->kind, FileKind::kDirectory);
  EXPECT_EQ(info->size, 0u);
  EXPECT_EQ(info->mode, 0700u);
}

TEST_P(FileSystemContractTest, CreateDirRefusesWhatIsThere) {
  ASSERT_OK(files_.CreateDir("d"));
  Write("a", "x");
  EXPECT_THAT(files_.CreateDir("d"), StatusIs(kAlreadyExists, HasSubstr("d")));
  EXPECT_THAT(files_.CreateDir("a"), StatusIs(kAlreadyExists));
  EXPECT_EQ(Read("a"), "x");
}

TEST_P(FileSystemContractTest, RemoveDirWantsItEmpty) {
  ASSERT_OK(files_.CreateDir("d"));
  Write("d/a", "x");
  EXPECT_THAT(files_.RemoveDir("d"), StatusIs(kFailedPrecondition));
  ASSERT_OK(files_.Remove("d/a"));
  EXPECT_OK(files_.RemoveDir("d"));
  EXPECT_THAT(files_.Exists("d"), IsOkAndHolds(false));
}

TEST_P(FileSystemContractTest, RemovedFileIsGoneButOpenOnesGoOn) {
  Write("a", "old");
  const auto reader = files_.OpenForRead("a");
  ASSERT_OK(reader);
  auto writer = files_.OpenForAppend("a");
  ASSERT_OK(writer);
  ASSERT_OK(files_.Remove("a"));
  EXPECT_THAT(files_.List(""), IsOkAndHolds(IsEmpty()));
  EXPECT_OK((*writer)->Append(AsBytes("er")));
  EXPECT_OK((*writer)->Sync());
  EXPECT_THAT((*reader)->Size(), IsOkAndHolds(5u));
  Write("a", "new");
  std::byte first{};
  EXPECT_THAT((*reader)->ReadAt(0, {&first, 1}), IsOkAndHolds(1u));
  EXPECT_EQ(first, std::byte{'o'});
  EXPECT_EQ(Read("a"), "new");
}

TEST_P(FileSystemContractTest, RenameMovesAndReplaces) {
  Write("a", "A");
  ASSERT_OK(files_.Rename("a", "b"));
  EXPECT_EQ(Read("b"), "A");
  EXPECT_THAT(files_.Exists("a"), IsOkAndHolds(false));
  Write("c", "C");
  ASSERT_OK(files_.Rename("c", "b"));
  EXPECT_EQ(Read("b"), "C");
  EXPECT_THAT(files_.List(""), IsOkAndHolds(ElementsAre("b")));
  EXPECT_OK(files_.Rename("b", "b"));
  EXPECT_EQ(Read("b"), "C");
}

TEST_P(FileSystemContractTest, RenameMovesADirectoryWithAllInIt) {
  ASSERT_OK(files_.CreateDir("tmp"));
  Write("tmp/a", "A");
  ASSERT_OK(files_.Rename("tmp", "final"));
  EXPECT_EQ(Read("final/a"), "A");
  EXPECT_THAT(files_.List(""), IsOkAndHolds(ElementsAre("final")));
  ASSERT_OK(files_.CreateDir("empty"));
  EXPECT_OK(files_.Rename("final", "empty"));
  EXPECT_EQ(Read("empty/a"), "A");
}

TEST_P(FileSystemContractTest, RenameRefusesUnlikePairs) {
  ASSERT_OK(files_.CreateDir("d"));
  ASSERT_OK(files_.CreateDir("full"));
  Write("full/a", "x");
  Write("f", "F");
  EXPECT_THAT(files_.Rename("f", "d"), StatusIs(kFailedPrecondition));
  EXPECT_THAT(files_.Rename("d", "f"), StatusIs(kFailedPrecondition));
  EXPECT_THAT(files_.Rename("d", "full"), StatusIs(kFailedPrecondition));
  EXPECT_THAT(files_.List(""), IsOkAndHolds(ElementsAre("d", "f", "full")));
}

TEST_P(FileSystemContractTest, RenameStaysInItsDirectory) {
  ASSERT_OK(files_.CreateDir("d"));
  Write("a", "x");
  EXPECT_THAT(files_.Rename("a", "d/a"),
              StatusIs(kInvalidArgument, HasSubstr("d/a")));
  EXPECT_THAT(files_.Rename("d", "d/e"), StatusIs(kInvalidArgument));
  EXPECT_THAT(files_.Rename("a", ""), StatusIs(kInvalidArgument));
  EXPECT_EQ(Read("a"), "x");
}

TEST_P(FileSystemContractTest, TheRootStays) {
  EXPECT_THAT(files_.CreateDir(""), StatusIs(kInvalidArgument));
  EXPECT_THAT(files_.Remove(""), StatusIs(kInvalidArgument));
  EXPECT_THAT(files_.RemoveDir(""), StatusIs(kInvalidArgument));
  EXPECT_THAT(files_.Rename("", "a"), StatusIs(kInvalidArgument));
}

TEST_P(FileSystemContractTest, BadPathsAreRefusedByEveryMethod) {
  const std::string bad_paths[] = {
      "/",
      "/a",
      "a/",
      "a//b",
      ".",
      "..",
      "a/..",
      "../a",
      "./a",
      "a/./b",
      {"a\0b", 3},
      std::string(256, 'x'),
      std::string(5000, 'x'),
  };
  for (const std::string& path : bad_paths) {
    SCOPED_TRACE(path);
    const auto bad = StatusIs(kInvalidArgument);
    EXPECT_THAT(files_.OpenForRead(path), bad);
    EXPECT_THAT(files_.CreateForWrite(path, IfExists::kFail), bad);
    EXPECT_THAT(files_.CreateForWrite(path, IfExists::kTruncate), bad);
    EXPECT_THAT(files_.OpenForAppend(path), bad);
    EXPECT_THAT(files_.Rename(path, "x"), bad);
    EXPECT_THAT(files_.Rename("x", path), bad);
    EXPECT_THAT(files_.Remove(path), bad);
    EXPECT_THAT(files_.CreateDir(path), bad);
    EXPECT_THAT(files_.RemoveDir(path), bad);
    EXPECT_THAT(files_.List(path), bad);
    EXPECT_THAT(files_.SyncDir(path), bad);
    EXPECT_THAT(files_.Stat(path), bad);
    EXPECT_THAT(files_.Exists(path), bad);
  }
}

TEST_P(FileSystemContractTest, UnusualNamesAreNames) {
  const std::string names[] = {
      "...", " ", "-rf", "a\nb", "\xff\xfe", "é", std::string(255, 'x')};
  for (const std::string& name : names) {
    Write(name, name);
    EXPECT_EQ(Read(name), name);
  }
  const auto listed = files_.List("");
  ASSERT_OK(listed);
  EXPECT_EQ(listed->size(), std::size(names));
}

// Random calls checked against a map from path to content, within one
// directory. Finds differences that no case above covers.
TEST_P(FileSystemContractTest, AgreesWithAMap) {
  Random random(2024);
  std::map<std::string, std::string> model;
  for (int step = 0; step < 3000; ++step) {
    const std::string name(1, static_cast<char>('a' + random.Below(4)));
    const std::string other(1, static_cast<char>('a' + random.Below(4)));
    const std::string text = std::to_string(step);
    const bool there = model.contains(name);
    switch (random.Below(5)) {
      case 0:
        Write(name, text);
        model[name] = text;
        break;
      case 1: {
        auto file = files_.OpenForAppend(name);
        ASSERT_EQ(file.ok(), there);
        if (!there) break;
        ASSERT_OK((*file)->Append(AsBytes(text)));
        model[name] += text;
        break;
      }
      case 2:
        ASSERT_EQ(files_.Remove(name).ok(), there);
        model.erase(name);
        break;
      case 3:
        ASSERT_EQ(files_.Rename(name, other).ok(), there);
        if (there && name != other) {
          model[other] = std::exchange(model[name], "");
          model.erase(name);
        }
        break;
      default:
        ASSERT_EQ(files_.CreateForWrite(name, IfExists::kFail).ok(), !there);
        model.try_emplace(name);
    }
    std::map<std::string, std::string> found;
    const auto names = files_.List("");
    ASSERT_OK(names);
    for (const std::string& each : *names) found[each] = Read(each);
    ASSERT_EQ(found, model) << "after step " << step;
  }
}

}  // namespace capstan

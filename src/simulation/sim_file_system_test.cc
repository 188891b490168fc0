#include "simulation/sim_file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/file/file_system_contract_test.h"
#include "base/random.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::capstan::testing::IsOkAndHolds;
using ::capstan::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class SimHarness final : public FileSystemHarness {
 public:
  FileSystem& files() override { return files_; }

 private:
  SimFileSystem files_;
};

INSTANTIATE_TEST_SUITE_P(
    Sim, FileSystemContractTest,
    ::testing::Values([]() -> std::unique_ptr<FileSystemHarness> {
      return std::make_unique<SimHarness>();
    }));

// Maps all files to their content; directories have a trailing slash.
using Tree = std::map<std::string, std::string>;

void AddTo(Tree& tree, const FileSystem& files, const std::string& directory) {
  const std::vector<std::string> names = files.List(directory).value();
  for (const std::string& name : names) {
    const std::string path = JoinPath(directory, name);
    if (files.Stat(path)->kind == FileKind::kDirectory) {
      tree[path + "/"] = "";
      AddTo(tree, files, path);
    } else {
      tree[path] = ReadFile(files, path, 1 << 20).value();
    }
  }
}

Tree Read(const FileSystem& files) {
  Tree tree;
  AddTo(tree, files, "");
  return tree;
}

// Steps from which tests build histories. All must succeed.
void Write(FileSystem& files, std::string_view path, std::string_view text) {
  auto file = files.CreateForWrite(path, IfExists::kTruncate);
  ASSERT_OK(file);
  ASSERT_OK((*file)->Append(AsBytes(text)));
}
void Append(FileSystem& files, std::string_view path, std::string_view text) {
  auto file = files.OpenForAppend(path);
  ASSERT_OK(file);
  ASSERT_OK((*file)->Append(AsBytes(text)));
}
void Sync(FileSystem& files, std::string_view path) {
  auto file = files.OpenForAppend(path);
  ASSERT_OK(file);
  ASSERT_OK((*file)->Sync());
}
void WriteSafely(FileSystem& files, std::string_view path,
                 std::string_view text) {
  Write(files, path, text);
  Sync(files, path);
  ASSERT_OK(files.SyncDir(DirectoryOf(path)));
}

// Every state that a crash after `history` can leave.
std::set<Tree> Outcomes(const std::function<void(FileSystem&)>& history) {
  std::set<Tree> outcomes;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SimFileSystem files;
    history(files);
    Random random(seed);
    files.Crash(random);
    outcomes.insert(Read(files));
  }
  return outcomes;
}

const std::string kZero(1, '\0');

TEST(SimCrashTest, WhatIsSyncedStays) {
  EXPECT_THAT(Outcomes([](FileSystem& files) {
                ASSERT_OK(files.CreateDir("d"));
                ASSERT_OK(files.SyncDir(""));
                WriteSafely(files, "d/a", "text");
              }),
              ElementsAre(Tree{{"d/", ""}, {"d/a", "text"}}));
}

TEST(SimCrashTest, UnsyncedContentIsLostInAnyPart) {
  EXPECT_THAT(Outcomes([](FileSystem& files) {
                WriteSafely(files, "a", "x");
                Append(files, "a", "yz");
              }),
              UnorderedElementsAre(Tree{{"a", "x"}}, Tree{{"a", "xy"}},
                                   Tree{{"a", "xyz"}}, Tree{{"a", "x" + kZero}},
                                   Tree{{"a", "x" + kZero + kZero}}));
}

TEST(SimCrashTest, SyncedContentWithoutSyncedNameMayBeLost) {
  EXPECT_THAT(Outcomes([](FileSystem& files) {
                Write(files, "a", "x");
                Sync(files, "a");
              }),
              UnorderedElementsAre(Tree{}, Tree{{"a", "x"}}));
}

TEST(SimCrashTest, SyncedNameWithoutSyncedContentMayBeEmpty) {
  EXPECT_THAT(Outcomes([](FileSystem& files) {
                Write(files, "a", "x");
                ASSERT_OK(files.SyncDir(""));
              }),
              UnorderedElementsAre(Tree{{"a", ""}}, Tree{{"a", "x"}},
                                   Tree{{"a", kZero}}));
}

TEST(SimCrashTest, TruncationIsUnsyncedToo) {
  EXPECT_THAT(Outcomes([](FileSystem& files) {
                WriteSafely(files, "a", "old");
                Write(files, "a", "n");
              }),
              UnorderedElementsAre(Tree{{"a", "old"}}, Tree{{"a", ""}},
                                   Tree{{"a", "n"}}, Tree{{"a", kZero}}));
  EXPECT_THAT(Outcomes([](FileSystem& files) {
                WriteSafely(files, "a", "old");
                Write(files, "a", "n");
                Sync(files, "a");
              }),
              ElementsAre(Tree{{"a", "n"}}));
}

TEST(SimCrashTest, RenameIsAtomicButNotDurable) {
  EXPECT_THAT(Outcomes([](FileSystem& files) {
                WriteSafely(files, "a", "new");
                WriteSafely(files, "b", "old");
                ASSERT_OK(files.Rename("a", "b"));
              }),
              UnorderedElementsAre(Tree{{"a", "new"}, {"b", "old"}},
                                   Tree{{"b", "new"}}));
}

TEST(SimCrashTest, RemovalIsNotDurable) {
  EXPECT_THAT(Outcomes([](FileSystem& files) {
                WriteSafely(files, "a", "x");
                ASSERT_OK(files.Remove("a"));
              }),
              UnorderedElementsAre(Tree{}, Tree{{"a", "x"}}));
  EXPECT_THAT(Outcomes([](FileSystem& files) {
                WriteSafely(files, "a", "x");
                ASSERT_OK(files.Remove("a"));
                ASSERT_OK(files.SyncDir(""));
              }),
              ElementsAre(Tree{}));
}

TEST(SimCrashTest, DifferentNamesAreReordered) {
  EXPECT_THAT(Outcomes([](FileSystem& files) {
                ASSERT_OK(files.CreateDir("a"));
                ASSERT_OK(files.CreateDir("b"));
              }),
              UnorderedElementsAre(Tree{}, Tree{{"a/", ""}}, Tree{{"b/", ""}},
                                   Tree{{"a/", ""}, {"b/", ""}}));
}

TEST(SimCrashTest, ChangesOfOneNameKeepTheirOrder) {
  EXPECT_THAT(Outcomes([](FileSystem& files) {
                WriteSafely(files, "a", "1");
                ASSERT_OK(files.Rename("a", "b"));
                ASSERT_OK(files.Rename("b", "c"));
              }),
              UnorderedElementsAre(Tree{{"a", "1"}}, Tree{{"b", "1"}},
                                   Tree{{"c", "1"}}));
}

TEST(SimCrashTest, DirectoryTakesItsFilesWithIt) {
  EXPECT_THAT(Outcomes([](FileSystem& files) {
                ASSERT_OK(files.CreateDir("d"));
                WriteSafely(files, "d/a", "x");
              }),
              UnorderedElementsAre(Tree{}, Tree{{"d/", ""}, {"d/a", "x"}}));
}

TEST(SimCrashTest, RenamedDirectoryIsInOnePlace) {
  EXPECT_THAT(Outcomes([](FileSystem& files) {
                ASSERT_OK(files.CreateDir("tmp"));
                ASSERT_OK(files.SyncDir(""));
                WriteSafely(files, "tmp/a", "x");
                ASSERT_OK(files.Rename("tmp", "final"));
              }),
              UnorderedElementsAre(Tree{{"tmp/", ""}, {"tmp/a", "x"}},
                                   Tree{{"final/", ""}, {"final/a", "x"}}));
}

TEST(SimCrashTest, RemovedDirectoryMayComeBackWithItsFiles) {
  EXPECT_THAT(Outcomes([](FileSystem& files) {
                ASSERT_OK(files.CreateDir("d"));
                ASSERT_OK(files.SyncDir(""));
                WriteSafely(files, "d/a", "x");
                ASSERT_OK(files.Remove("d/a"));
                ASSERT_OK(files.RemoveDir("d"));
              }),
              UnorderedElementsAre(Tree{}, Tree{{"d/", ""}},
                                   Tree{{"d/", ""}, {"d/a", "x"}}));
}

TEST(SimCrashTest, LongAppendLosesSectors) {
  const std::string text(4 * 512, 'x');
  bool hole_before_data = false;
  for (const Tree& tree : Outcomes([&](FileSystem& files) {
         WriteSafely(files, "a", "head");
         Append(files, "a", text);
       })) {
    const std::string& content = tree.at("a");
    ASSERT_GE(content.size(), 4u);
    ASSERT_EQ(content.substr(0, 4), "head");
    ASSERT_EQ(content.find_first_not_of(std::string("x\0", 2), 4),
              std::string::npos);
    const size_t hole = content.find('\0');
    if (hole == std::string::npos) continue;
    ASSERT_TRUE(hole == 4 || hole % 512 == 0) << hole;
    hole_before_data |= content.find('x', hole) != std::string::npos;
  }
  EXPECT_TRUE(hole_before_data);
}

TEST(SimCrashTest, WhatIsLeftIsDurable) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SimFileSystem files;
    Write(files, "a", "text");
    ASSERT_OK(files.CreateDir("d"));
    Write(files, "d/b", "more");
    Random random(seed);
    files.Crash(random);
    const Tree once = Read(files);
    files.Crash(random);
    EXPECT_EQ(Read(files), once);
  }
}

TEST(SimCrashTest, SameRandomSameOutcome) {
  const auto run = [](uint64_t seed) {
    SimFileSystem files;
    for (char name = 'a'; name < 'k'; ++name) {
      Write(files, std::string(1, name), "some text");
    }
    Random random(seed);
    files.Crash(random);
    return Read(files);
  };
  std::set<Tree> outcomes;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_EQ(run(seed), run(seed));
    outcomes.insert(run(seed));
  }
  EXPECT_GT(outcomes.size(), 20u);
}

TEST(SimCrashTest, OpenFilesAreDead) {
  SimFileSystem files;
  WriteSafely(files, "a", "x");
  const auto reader = files.OpenForRead("a");
  auto writer = files.OpenForAppend("a");
  ASSERT_OK(reader);
  ASSERT_OK(writer);
  Random random(1);
  files.Crash(random);
  const auto dead =
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("crash"));
  EXPECT_THAT((*reader)->Size(), dead);
  EXPECT_THAT((*reader)->ReadAt(0, {}), dead);
  EXPECT_THAT((*writer)->Append(AsBytes("y")), dead);
  EXPECT_THAT((*writer)->Sync(), dead);
  EXPECT_THAT((*writer)->Close(), dead);
  EXPECT_EQ(Read(files), (Tree{{"a", "x"}}));
}

TEST(SimFileSystemTest, FilesMayOutliveIt) {
  std::unique_ptr<WritableFile> file;
  {
    SimFileSystem files;
    file = files.CreateForWrite("a", IfExists::kFail).value();
  }
  EXPECT_OK(file->Append(AsBytes("x")));
}

TEST(SimFileSystemTest, CapacityCountsAllFiles) {
  SimFileSystem files;
  ASSERT_OK(files.CreateDir("d"));
  Write(files, "d/a", "12345");
  files.SetCapacity(8);
  auto file = files.CreateForWrite("b", IfExists::kFail);
  ASSERT_OK(file);
  EXPECT_OK((*file)->Append(AsBytes("67")));
  EXPECT_THAT((*file)->Append(AsBytes("89")),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("b")));
  EXPECT_EQ(files.used_bytes(), 8u);
  EXPECT_EQ(Read(files).at("b"), "678");
  EXPECT_THAT((*file)->Append({}),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  // Removing files frees space.
  ASSERT_OK(files.Remove("d/a"));
  EXPECT_EQ(files.used_bytes(), 3u);
  Append(files, "b", "9abcd");
  files.SetCapacity(2);
  EXPECT_FALSE(files.OpenForAppend("b").value()->Append(AsBytes("e")).ok());
}

TEST(SimFileSystemTest, OperationsAreNumbered) {
  SimFileSystem files;
  EXPECT_EQ(files.operations(), 0u);
  auto file = files.CreateForWrite("a", IfExists::kFail);  // 1
  ASSERT_OK(file);
  EXPECT_OK((*file)->Append(AsBytes("x")));    // 2
  EXPECT_OK((*file)->Sync());                  // 3
  EXPECT_OK((*file)->Close());                 // 4
  EXPECT_OK(files.SyncDir(""));                // 5
  EXPECT_OK(files.Rename("a", "b"));           // 6
  const auto reader = files.OpenForRead("b");  // 7
  ASSERT_OK(reader);
  EXPECT_OK((*reader)->Size());           // 8
  EXPECT_OK((*reader)->ReadAt(0, {}));    // 9
  EXPECT_OK(files.Exists("b"));           // 10
  EXPECT_OK(files.List(""));              // 11
  EXPECT_FALSE(files.Remove("no").ok());  // 12
  EXPECT_OK(files.Remove("b"));           // 13
  EXPECT_OK(files.CreateDir("d"));        // 14
  EXPECT_OK(files.RemoveDir("d"));        // 15
  EXPECT_EQ(files.operations(), 15u);
}

TEST(SimFileSystemTest, InjectedFailureDoesNothingElse) {
  SimFileSystem files;
  WriteSafely(files, "a", "x");
  const auto fails = [&](const std::function<absl::Status()>& operation) {
    files.FailOperation(files.operations() + 1, absl::DataLossError("planted"));
    EXPECT_THAT(operation(), StatusIs(absl::StatusCode::kDataLoss,
                                      HasSubstr("\"a\": planted")));
  };
  const auto open = [&] { return files.OpenForAppend("a").value(); };
  fails([&] { return files.OpenForRead("a").status(); });
  fails(
      [&] { return files.CreateForWrite("a", IfExists::kTruncate).status(); });
  fails([&] { return files.OpenForAppend("a").status(); });
  fails([&] { return files.Rename("a", "b"); });
  fails([&] { return files.Remove("a"); });
  fails([&] { return files.Stat("a").status(); });
  fails([&] { return files.Exists("a").status(); });
  auto file = open();
  fails([&] { return file->Append(AsBytes("y")); });
  // The failure sticks to the file that had it, and to no other.
  EXPECT_THAT(file->Append(AsBytes("y")),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(file->Sync(), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_OK(file->Close());
  EXPECT_EQ(Read(files), (Tree{{"a", "x"}}));
  file = open();
  EXPECT_OK(file->Append(AsBytes("y")));
  fails([&] { return file->Sync(); });
  fails([&] { return file->Close(); });
  EXPECT_THAT(file->Close(), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST(SimFileSystemTest, FailedSyncMakesNothingDurable) {
  bool lost = false;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SimFileSystem files;
    WriteSafely(files, "a", "x");
    auto file = files.OpenForAppend("a").value();
    ASSERT_OK(file->Append(AsBytes("y")));
    files.FailOperation(files.operations() + 1, absl::DataLossError("planted"));
    EXPECT_FALSE(file->Sync().ok());
    Random random(seed);
    files.Crash(random);
    lost |= Read(files).at("a") == "x";
  }
  EXPECT_TRUE(lost);
}

TEST(SimFileSystemTest, FailFromStopsEverythingUntilCleared) {
  SimFileSystem files;
  Write(files, "a", "x");
  files.FailFrom(files.operations() + 2, absl::AbortedError("killed"));
  EXPECT_OK(files.Stat("a"));
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(files.Remove("a"), StatusIs(absl::StatusCode::kAborted));
  }
  files.ClearFailures();
  EXPECT_OK(files.Remove("a"));
}

}  // namespace
}  // namespace capstan

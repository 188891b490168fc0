// A writer that saves one checkpoint after the other and keeps two is killed at
// each of its disk operations in turn: what is found afterwards is the last
// checkpoint that it committed, or the complete next one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "checkpoint/checkpoint_name.h"
#include "checkpoint/small_checkpoint_test.h"
#include "simulation/sim_file_system.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::capstan::testing::SaveSmall;
using ::capstan::testing::SmallSave;

constexpr std::string_view kDir = "runs/a";
constexpr uint64_t kSaves = 4;
constexpr int kKeep = 2;
constexpr uint64_t kSeeds = 10;

SmallSave SaveOf(uint64_t step) { return {.seed = step, .step = step}; }

// What each save must read back as, whoever wrote it. Computed once each.
const Manifest& Expected(uint64_t step) {
  static std::map<uint64_t, Manifest> manifests;
  const auto [at, is_new] = manifests.try_emplace(step);
  if (is_new) {
    SimFileSystem files;
    at->second = *testing::WriteSmallFiles(files, "", SaveOf(step));
  }
  return at->second;
}

absl::Status RemoveOld(FileSystem& files) {
  const auto names = ListCheckpoints(files, kDir);
  CAPSTAN_RETURN_IF_ERROR(names.status());
  std::vector<Checkpoint> checkpoints;
  for (const std::string& name : *names) {
    auto checkpoint = OpenCheckpoint(files, JoinPath(kDir, name));
    CAPSTAN_RETURN_IF_ERROR(checkpoint.status());
    checkpoints.push_back(*std::move(checkpoint));
  }
  for (const std::string& name :
       ToRemove(checkpoints, {.max_to_keep = kKeep}, {})) {
    CAPSTAN_RETURN_IF_ERROR(RemoveCheckpoint(files, kDir, name));
  }
  return absl::OkStatus();
}

// Saves steps first .. last. `committed` is the last whose save returned OK.
absl::Status Write(FileSystem& files, uint64_t first, uint64_t last,
                   uint64_t& committed) {
  CAPSTAN_RETURN_IF_ERROR(PrepareDirectory(files, kDir));
  for (uint64_t step = first; step <= last; ++step) {
    // Like SaveSmall, but a process that has died abandons nothing.
    const auto begun = BeginCheckpoint(files, kDir);
    CAPSTAN_RETURN_IF_ERROR(begun.status());
    const auto manifest =
        testing::WriteSmallFiles(files, begun->path, SaveOf(step));
    CAPSTAN_RETURN_IF_ERROR(manifest.status());
    CAPSTAN_RETURN_IF_ERROR(CommitCheckpoint(files, *begun, *manifest));
    committed = step;
    CAPSTAN_RETURN_IF_ERROR(RemoveOld(files));
  }
  return absl::OkStatus();
}

// Checks that every visible checkpoint is complete, and that the newest is
// `committed` or the one after it. Returns its step; 0 if there is none.
uint64_t CheckDirectory(const FileSystem& files, uint64_t committed) {
  const auto names = ListCheckpoints(files, kDir);
  if (!names.ok()) {
    EXPECT_TRUE(absl::IsNotFound(names.status())) << names.status();
    EXPECT_EQ(committed, 0u);
    return 0;
  }
  for (const std::string& name : *names) {
    const std::string path = JoinPath(kDir, name);
    const auto checkpoint = OpenCheckpoint(files, path);
    EXPECT_OK(checkpoint);
    if (!checkpoint.ok()) return 0;
    EXPECT_EQ(checkpoint->manifest, Expected(checkpoint->manifest.step));
    EXPECT_OK(VerifyCheckpoint(files, path, checkpoint->manifest));
  }
  std::vector<std::string> damaged;
  const auto newest = NewestCheckpoint(files, kDir, &damaged);
  EXPECT_TRUE(damaged.empty());
  if (!newest.ok()) {
    EXPECT_TRUE(absl::IsNotFound(newest.status())) << newest.status();
    EXPECT_EQ(committed, 0u);
    return 0;
  }
  EXPECT_GE(newest->manifest.step, committed);
  EXPECT_LE(newest->manifest.step, committed + 1);
  return newest->manifest.step;
}

// The next writer cleans up and continues.
void CheckGoesOn(FileSystem& files, uint64_t found) {
  uint64_t committed = found;
  ASSERT_OK(Write(files, found + 1, found + 3, committed));
  EXPECT_EQ(CheckDirectory(files, committed), found + 3);
  const auto names = files.List(kDir);
  ASSERT_OK(names);
  EXPECT_EQ(names->size(), static_cast<size_t>(kKeep));
}

uint64_t CountOperations() {
  SimFileSystem files;
  uint64_t committed = 0;
  EXPECT_OK(Write(files, 1, kSaves, committed));
  EXPECT_EQ(committed, kSaves);
  EXPECT_EQ(CheckDirectory(files, committed), kSaves);
  return files.operations();
}

absl::Status Dead() { return absl::UnavailableError("the process is dead"); }

TEST(CheckpointCrashTest, PowerFailsAtEachOperation) {
  const uint64_t operations = CountOperations();
  for (uint64_t at = 1; at <= operations + 1; ++at) {
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      SCOPED_TRACE(absl::StrCat("operation ", at, ", seed ", seed));
      SimFileSystem files;
      files.FailFrom(at, Dead());
      uint64_t committed = 0;
      (void)Write(files, 1, kSaves, committed);
      Random random(seed, at);
      files.Crash(random);
      files.ClearFailures();
      const uint64_t found = CheckDirectory(files, committed);
      CheckGoesOn(files, found);
      if (HasFailure()) return;
    }
  }
  std::printf("%lu operations x %lu seeds\n",
              static_cast<unsigned long>(operations + 1),
              static_cast<unsigned long>(kSeeds));
}

// The first writer is killed but its machine stays up; the second cleans up
// after it, and then the power fails.
TEST(CheckpointCrashTest, KilledAndThenPowerFails) {
  const uint64_t operations = CountOperations();
  for (uint64_t at = 1; at <= operations + 1; ++at) {
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      SCOPED_TRACE(absl::StrCat("operation ", at, ", seed ", seed));
      Random random(seed, at);
      SimFileSystem files;
      files.FailFrom(at, Dead());
      uint64_t committed = 0;
      (void)Write(files, 1, kSaves, committed);
      files.ClearFailures();
      // Visible, but maybe not durable: what counts is what was committed.
      const uint64_t seen = CheckDirectory(files, committed);
      files.FailFrom(files.operations() + 1 + random.Below(operations / 2),
                     Dead());
      uint64_t second = 0;
      (void)Write(files, seen + 1, seen + 3, second);
      files.Crash(random);
      files.ClearFailures();
      const auto newest = NewestCheckpoint(files, kDir, nullptr);
      const uint64_t found = newest.ok() ? newest->manifest.step : 0;
      EXPECT_GE(found, std::max(committed, second));
      EXPECT_EQ(CheckDirectory(files, found), found);
      CheckGoesOn(files, found);
      if (HasFailure()) return;
    }
  }
}

// Every pair of operations: killed at one while removing, and a power failure
// at the other while the next writer cleans up.
TEST(CheckpointCrashTest, KilledWhileRemovingAndAgainWhileCleaningUp) {
  constexpr uint64_t kMost = 40;  // operations of either
  bool removed = false;
  for (uint64_t at = 1; at <= kMost && !removed; ++at) {
    bool cleaned = false;
    for (uint64_t then = 1; then <= kMost && !cleaned; ++then) {
      for (uint64_t seed = 0; seed < kSeeds; ++seed) {
        SCOPED_TRACE(
            absl::StrCat("operations ", at, ", ", then, ", seed ", seed));
        SimFileSystem files;
        uint64_t committed = 0;
        ASSERT_OK(Write(files, 1, 2, committed));
        files.FailFrom(files.operations() + at, Dead());
        removed = RemoveCheckpoint(files, kDir, "ckpt-1").ok();
        files.ClearFailures();
        files.FailFrom(files.operations() + then, Dead());
        cleaned = PrepareDirectory(files, kDir).ok();
        Random random(seed, at * kMost + then);
        files.Crash(random);
        files.ClearFailures();
        EXPECT_EQ(CheckDirectory(files, committed), committed);
        if (HasFailure()) return;
      }
    }
    EXPECT_TRUE(cleaned);
  }
  EXPECT_TRUE(removed);
}

class DiskFullTest : public ::testing::Test {
 protected:
  // Two checkpoints, and the operations of a third save.
  DiskFullTest() {
    uint64_t committed = 0;
    EXPECT_OK(Write(files_, 1, 2, committed));
  }

  // The save of step 3 fails for lack of space, and nothing else is harmed.
  void CheckFails(const absl::Status& status, uint64_t visible) {
    EXPECT_THAT(status,
                testing::StatusIs(absl::StatusCode::kResourceExhausted));
    const uint64_t found = CheckDirectory(files_, 2);
    EXPECT_EQ(found, visible);
    const auto names = files_.List(kDir);
    ASSERT_OK(names);
    for (const std::string& name : *names) {
      EXPECT_TRUE(CheckpointNumber(name)) << name << " was not abandoned";
    }
  }

  SimFileSystem files_;
};

TEST_F(DiskFullTest, AtEachOperationOfASave) {
  uint64_t before = files_.operations();
  ASSERT_OK(SaveSmall(files_, kDir, SaveOf(3)));
  const uint64_t operations = files_.operations() - before;
  ASSERT_OK(RemoveCheckpoint(files_, kDir, "ckpt-3"));
  uint64_t visible = 0;
  for (uint64_t at = 1; at <= operations; ++at) {
    SCOPED_TRACE(absl::StrCat("operation ", at));
    before = files_.operations();
    files_.FailOperation(before + at,
                         absl::ResourceExhaustedError("no space left"));
    const absl::Status status = SaveSmall(files_, kDir, SaveOf(3)).status();
    // Once renamed it exists, even if the save reports an error.
    const bool there = *files_.Exists("runs/a/ckpt-3");
    CheckFails(status, there ? 3 : 2);
    if (there) {
      ++visible;
      ASSERT_OK(RemoveCheckpoint(files_, kDir, "ckpt-3"));
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(visible, 0u);
  EXPECT_LT(visible, operations / 2);
  EXPECT_OK(SaveSmall(files_, kDir, SaveOf(3)));
}

TEST_F(DiskFullTest, AtEachByte) {
  const uint64_t used = files_.used_bytes();
  ASSERT_OK(SaveSmall(files_, kDir, SaveOf(3)));
  const uint64_t size = files_.used_bytes() - used;
  ASSERT_OK(RemoveCheckpoint(files_, kDir, "ckpt-3"));
  for (uint64_t room = 0; room < size; ++room) {
    SCOPED_TRACE(absl::StrCat("room for ", room, " of ", size));
    files_.SetCapacity(used + room);
    CheckFails(SaveSmall(files_, kDir, SaveOf(3)).status(), 2);
    EXPECT_EQ(files_.used_bytes(), used);
    if (HasFailure()) return;
  }
  files_.SetCapacity(used + size);
  EXPECT_OK(SaveSmall(files_, kDir, SaveOf(3)));
}

}  // namespace
}  // namespace capstan

#include "coordinator/written_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>

#include "checkpoint/checkpoint_name.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::StatusIs;

std::shared_ptr<WrittenDirectory> NewDirectory() {
  return std::make_shared<WrittenDirectory>();
}

// ckpt-1 to ckpt-`count`.
std::vector<Checkpoint> Checkpoints(uint64_t count) {
  std::vector<Checkpoint> checkpoints;
  for (uint64_t i = 1; i <= count; ++i) {
    checkpoints.push_back(
        {.name = CheckpointName(i), .number = i, .manifest = {}});
  }
  return checkpoints;
}

TEST(WrittenDirectoryTest, WhatAnyOfThemKeepsStays) {
  const auto directory = NewDirectory();
  const auto many = directory->Join({.max_to_keep = 3});
  EXPECT_THAT(directory->SuperfluousOf(Checkpoints(5)),
              ElementsAre("ckpt-1", "ckpt-2"));
  const auto one = directory->Join({.max_to_keep = 1});
  EXPECT_THAT(directory->SuperfluousOf(Checkpoints(5)),
              ElementsAre("ckpt-1", "ckpt-2"));
  directory->Keep(one, "ckpt-1");
  EXPECT_THAT(directory->SuperfluousOf(Checkpoints(5)), ElementsAre("ckpt-2"));
  EXPECT_THAT(directory->KeptByOthers(many), ElementsAre("ckpt-1"));
  EXPECT_THAT(directory->KeptByOthers(one), IsEmpty());
  directory->Leave(many);
  EXPECT_THAT(directory->SuperfluousOf(Checkpoints(5)),
              ElementsAre("ckpt-2", "ckpt-3", "ckpt-4"));
}

TEST(WrittenDirectoryTest, WhatOneThatHasLeftKeepsStaysToo) {
  const auto directory = NewDirectory();
  directory->Join({.max_to_keep = 1});
  const auto gone = directory->Join({.max_to_keep = 1});
  directory->Keep(gone, "ckpt-2");
  directory->Keep(gone, "ckpt-1");
  directory->Leave(gone);
  EXPECT_THAT(directory->SuperfluousOf(Checkpoints(3)), ElementsAre("ckpt-2"));
}

TEST(WrittenDirectoryTest, OneThatKeepsAllKeepsThemForAll) {
  const auto directory = NewDirectory();
  directory->Join({.max_to_keep = 1});
  directory->Join({.max_to_keep = 0});
  EXPECT_THAT(directory->SuperfluousOf(Checkpoints(9)), IsEmpty());
}

TEST(WrittenDirectoriesTest, OneAtATimeHasItsTurn) {
  WrittenDirectories directories;
  EXPECT_EQ(directories.writes_to(), "");
  auto turn = directories.AwaitTurn("/a", Duration::zero());
  ASSERT_NE(turn, nullptr);
  EXPECT_EQ(directories.AwaitTurn("/b", std::chrono::milliseconds(1)), nullptr);
  EXPECT_EQ(directories.writes_to(), "/a");
  auto next = std::async(std::launch::async, [&] {
    return directories.AwaitTurn("/b", std::chrono::minutes(1)) != nullptr;
  });
  // A thread other than the one that took the turn may give it back.
  std::async(std::launch::async, [&] { turn = nullptr; }).wait();
  EXPECT_TRUE(next.get());
}

TEST(WrittenDirectoriesTest, OnlyTheFirstPrepares) {
  WrittenDirectories directories;
  int prepared = 0;
  const auto prepare = [&] {
    ++prepared;
    return absl::OkStatus();
  };
  auto first = directories.Open("/a", prepare);
  ASSERT_OK(first);
  const auto second = directories.Open("/a", prepare);
  ASSERT_OK(second);
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(prepared, 1);
  const auto other = directories.Open("/b", prepare);
  ASSERT_OK(other);
  EXPECT_NE(*first, *other);
  EXPECT_EQ(prepared, 2);
}

TEST(WrittenDirectoriesTest, ItEndsWithTheLastThatHoldsIt) {
  WrittenDirectories directories;
  EXPECT_THAT(
      directories.Open("/a", [] { return absl::DataLossError("broken"); }),
      StatusIs(absl::StatusCode::kDataLoss));
  int prepared = 0;
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(directories.Open("/a", [&] {
      ++prepared;
      return absl::OkStatus();
    }));
  }
  EXPECT_EQ(prepared, 2);
}

}  // namespace
}  // namespace capstan

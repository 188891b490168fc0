// What is written behind the training: what waits for it and what does not, and
// managers that write to one directory.
#include <asio/post.hpp>
#include <future>
#include <map>

#include "coordinator/checkpoint_helpers.h"
#include "coordinator/coordinator_impl.h"

namespace capstan {
namespace {

namespace fs = std::filesystem;
using testing::Door;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Job;
using testing::NamesIn;
using testing::TempDir;

class CheckpointWritingTest : public ::testing::Test {
 protected:
  CheckpointWritingTest() { job_.CreateCounter("a"); }
  ~CheckpointWritingTest() override { door_.Open(); }

  // Saves, but nothing of it is written before the door is open: what writes
  // asks servers, and their answers come on a thread that waits there.
  std::string SaveBehindDoor(CheckpointManager& manager) {
    return manager.Save([this] {
      asio::post(CoordinatorMaker::ImplOf(job_.coordinator)->executor,
                 [this] { door_.Wait(); });
      return std::map<std::string, std::string>();
    });
  }

  const TempDir dir_;
  Door door_;
  Job job_{Definitions(), 1, 2};
};

TEST_F(CheckpointWritingTest, OneLeavesAloneWhatAnotherIsWriting) {
  CheckpointManager first(job_.coordinator, dir_.path());
  EXPECT_EQ(SaveBehindDoor(first), "ckpt-1");
  // By another way to the same directory.
  CheckpointManager second(job_.coordinator, dir_.path() + "/.");
  EXPECT_THAT(NamesIn(dir_.path()), ElementsAre(".tmp-ckpt-1"));
  door_.Open();
  first.Wait();
  EXPECT_THAT(second.checkpoints(), ElementsAre("ckpt-1"));
}

TEST_F(CheckpointWritingTest, OneWritesAfterTheOther) {
  CheckpointManager first(job_.coordinator, dir_.path());
  CheckpointManager second(job_.coordinator, dir_.path());
  SaveBehindDoor(first);
  auto saved = std::async(std::launch::async, [&] { return second.Save(); });
  EXPECT_EQ(saved.wait_for(std::chrono::milliseconds(20)),
            std::future_status::timeout);
  EXPECT_THAT(NamesIn(dir_.path()), ElementsAre(".tmp-ckpt-1"));
  door_.Open();
  EXPECT_EQ(saved.get(), "ckpt-2");
  second.Wait();
  EXPECT_FALSE(first.writing());
  EXPECT_THAT(first.checkpoints(), ElementsAre("ckpt-1", "ckpt-2"));
}

// Servers have one snapshot at a time.
TEST_F(CheckpointWritingTest, SoItIsWithTwoDirectories) {
  CheckpointManager first(job_.coordinator, dir_ / "a");
  CheckpointManager second(job_.coordinator, dir_ / "b");
  SaveBehindDoor(first);
  auto saved = std::async(std::launch::async, [&] { return second.Save(); });
  EXPECT_EQ(saved.wait_for(std::chrono::milliseconds(20)),
            std::future_status::timeout);
  EXPECT_THAT(NamesIn(dir_ / "b"), IsEmpty());
  door_.Open();
  EXPECT_EQ(saved.get(), "ckpt-1");
  first.Wait();
  second.Wait();
  EXPECT_THAT(first.checkpoints(), ElementsAre("ckpt-1"));
  EXPECT_THAT(second.checkpoints(), ElementsAre("ckpt-1"));
}

TEST_F(CheckpointWritingTest, NoneRemovesWhatAnotherKeeps) {
  CheckpointManager newest(job_.coordinator, dir_.path(), {.max_to_keep = 3});
  {
    CheckpointManager best(job_.coordinator, dir_.path(), {.max_to_keep = 1});
    best.Keep(best.Save());
    for (int i = 0; i < 4; ++i) newest.Save();
    // Alone it would keep just this one, and the best.
    best.Save();
    best.Wait();
    EXPECT_THAT(best.checkpoints(),
                ElementsAre("ckpt-1", "ckpt-4", "ckpt-5", "ckpt-6"));
  }
  // It has gone, but not what it has kept.
  newest.Save();
  newest.Wait();
  EXPECT_THAT(newest.checkpoints(),
              ElementsAre("ckpt-1", "ckpt-5", "ckpt-6", "ckpt-7"));
  newest.RemoveAll();
  EXPECT_THAT(NamesIn(dir_.path()), ElementsAre("ckpt-1"));
}

TEST_F(CheckpointWritingTest, WhatACrashHasLeftIsRemovedByTheFirstOfThem) {
  fs::create_directory(dir_ / ".tmp-ckpt-7");
  {
    const CheckpointManager reader(job_.coordinator, dir_.path(),
                                   {.read_only = true});
  }
  EXPECT_THAT(NamesIn(dir_.path()), ElementsAre(".tmp-ckpt-7"));
  for (int i = 0; i < 2; ++i) {
    fs::create_directories(dir_ / ".old-ckpt-6");
    const CheckpointManager first(job_.coordinator, dir_.path());
    EXPECT_THAT(NamesIn(dir_.path()), IsEmpty());
  }
}

TEST_F(CheckpointWritingTest, AnErrorIsTakenWithoutWaiting) {
  CheckpointManager manager(job_.coordinator, dir_.path());
  EXPECT_FALSE(manager.writing());
  SaveBehindDoor(manager);
  EXPECT_TRUE(manager.writing());
  EXPECT_EQ(manager.TakeError(), std::nullopt);
  // So that it cannot be written.
  fs::rename(dir_ / ".tmp-ckpt-1", dir_ / "moved");
  EXPECT_EQ(manager.TakeError(), std::nullopt);
  door_.Open();
  while (manager.writing()) std::this_thread::yield();
  const std::optional<Error> error = manager.TakeError();
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), HasSubstr("'ckpt-1'"));
  EXPECT_EQ(manager.TakeError(), std::nullopt);
}

TEST_F(CheckpointWritingTest, AnErrorIsKeptUntilSomebodyAsks) {
  CheckpointManager manager(job_.coordinator, dir_.path());
  SaveBehindDoor(manager);
  fs::rename(dir_ / ".tmp-ckpt-1", dir_ / "moved");
  door_.Open();
  // It waits, and does not tell.
  manager.Save();
  EXPECT_THAT(testing::ErrorOf([&] { manager.Wait(); }).what(),
              HasSubstr("was not written"));
  manager.Wait();
}

TEST_F(CheckpointWritingTest, AnErrorThatNobodyAskedForIsLogged) {
  ::testing::internal::CaptureStderr();
  {
    CheckpointManager manager(job_.coordinator, dir_.path());
    SaveBehindDoor(manager);
    fs::rename(dir_ / ".tmp-ckpt-1", dir_ / "moved");
    door_.Open();
  }
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("checkpoint 'ckpt-1' in '" + dir_.path() +
                              "' was not written"));
}

}  // namespace
}  // namespace capstan

#include "server/snapshot_store.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>

#include "testing/status_matchers.h"

namespace capstan {
namespace {

using absl::StatusCode::kNotFound;
using absl::StatusCode::kUnavailable;
using testing::StatusIs;

SnapshotPtr Named(uint64_t save_id) {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->save_id = save_id;
  return snapshot;
}

class SnapshotStoreTest : public ::testing::Test {
 protected:
  void Put(uint64_t save_id) {
    ASSERT_OK(snapshots_.Begin(save_id, now_));
    ASSERT_OK(snapshots_.Finish(Named(save_id), now_));
  }
  SnapshotStore snapshots_;
  MonotonicTime now_ = MonotonicTime(std::chrono::hours(1));
};

TEST_F(SnapshotStoreTest, OneIsMadeAtATime) {
  ASSERT_OK(snapshots_.Begin(1, now_));
  EXPECT_THAT(snapshots_.Begin(1, now_), StatusIs(kUnavailable));
  EXPECT_THAT(snapshots_.Begin(2, now_), StatusIs(kUnavailable));
  EXPECT_THAT(snapshots_.Get(1, now_), StatusIs(kNotFound));
  snapshots_.Abandon();
  Put(2);
  EXPECT_EQ(snapshots_.Begin(2, now_)->same, *snapshots_.Get(2, now_));
  const auto third = snapshots_.Begin(3, now_);
  ASSERT_OK(third);
  EXPECT_EQ(third->same, nullptr);
  EXPECT_EQ(third->old->save_id, 2u);
}

TEST_F(SnapshotStoreTest, WhatNobodyAsksForIsGivenUp) {
  Put(1);
  now_ += SnapshotStore::kIdle - std::chrono::seconds(1);
  EXPECT_EQ(snapshots_.TakeIdle(now_), nullptr);
  ASSERT_OK(snapshots_.Get(1, now_));
  now_ += SnapshotStore::kIdle - std::chrono::seconds(1);
  EXPECT_EQ(snapshots_.TakeIdle(now_), nullptr);
  now_ += std::chrono::seconds(1);
  // Not while it is being written, however long that takes.
  ASSERT_OK(snapshots_.BeginWrite(1, "path", std::nullopt));
  EXPECT_EQ(snapshots_.TakeIdle(now_), nullptr);
  snapshots_.EndWrite(1, "path", std::nullopt, now_);
  EXPECT_EQ(snapshots_.TakeIdle(now_), nullptr);
  now_ += SnapshotStore::kIdle;
  ASSERT_NE(snapshots_.TakeIdle(now_), nullptr);
  EXPECT_EQ(snapshots_.TakeIdle(now_), nullptr);
  EXPECT_THAT(snapshots_.Get(1, now_), StatusIs(kNotFound));
}

TEST_F(SnapshotStoreTest, OneWritesAtATimeAndItsResultIsKept) {
  Put(1);
  const auto begun = snapshots_.BeginWrite(1, "a", std::nullopt);
  ASSERT_OK(begun);
  EXPECT_EQ(*begun, std::nullopt);
  EXPECT_THAT(snapshots_.BeginWrite(1, "a", std::nullopt),
              StatusIs(kUnavailable));
  const SnapshotWriteReply written = {.bytes = 5};
  snapshots_.EndWrite(1, "a", written, now_);
  EXPECT_EQ(*snapshots_.BeginWrite(1, "a", 5), written);
  // Another file, or one of another size, must be written.
  EXPECT_EQ(*snapshots_.BeginWrite(1, "b", 5), std::nullopt);
  snapshots_.EndWrite(1, "b", std::nullopt, now_);
  EXPECT_EQ(*snapshots_.BeginWrite(1, "a", 4), std::nullopt);
  snapshots_.EndWrite(1, "a", written, now_);
  // Nothing of another snapshot is written yet.
  Put(2);
  EXPECT_EQ(*snapshots_.BeginWrite(2, "a", 5), std::nullopt);
  // A snapshot that was dropped in the meantime leaves nothing behind.
  ASSERT_NE(snapshots_.Take(2), nullptr);
  Put(3);
  snapshots_.EndWrite(2, "a", written, now_);
  EXPECT_EQ(*snapshots_.BeginWrite(3, "a", 5), std::nullopt);
}

TEST_F(SnapshotStoreTest, ClosedForGood) {
  Put(1);
  const std::weak_ptr<const Snapshot> held = *snapshots_.Get(1, now_);
  snapshots_.Close();
  EXPECT_TRUE(held.expired());
  EXPECT_THAT(snapshots_.Begin(1, now_), StatusIs(kUnavailable));
  SnapshotStore making;
  ASSERT_OK(making.Begin(1, now_));
  making.Close();
  EXPECT_THAT(making.Finish(Named(1), now_), StatusIs(kUnavailable));
  EXPECT_THAT(making.Get(1, now_), StatusIs(kNotFound));
}

}  // namespace
}  // namespace capstan

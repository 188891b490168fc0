#include <gtest/gtest.h>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "server/shard/copy_leased.h"
#include "server/shard/shard.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

constexpr size_t kWidth = 16;
constexpr uint64_t kNoLimit = uint64_t{1} << 40;

// A table with two slots: 1 MiB in total for each 5,461 rows.
std::shared_ptr<Shard> Table(int64_t rows, UpdateMode mode = Async{},
                             uint64_t limit = kNoLimit) {
  VariableEntry entry;
  entry.id = 1;
  entry.spec.name = "table";
  entry.spec.shape = {rows, int64_t{kWidth}};
  entry.spec.initializer = Ones{};
  entry.spec.optimizer = Adam{};
  entry.spec.update = mode;
  entry.shards = {{.begin = 0, .end = rows, .server = 0}};
  auto shard =
      Shard::Create(entry, 0, std::make_shared<MemoryBudget>(limit)).value();
  EXPECT_OK(shard->Fill(0, static_cast<size_t>(rows)));
  return shard;
}
constexpr int64_t kLargeRows = 100'000;
constexpr int64_t kSmallRows = 100;

uint64_t BytesOfTable(int64_t rows) {
  return static_cast<uint64_t>(rows) * kWidth * sizeof(float) * 3;
}

const std::byte* MemoryOf(const Shard& shard) {
  return shard.Pull().bytes().data();
}

std::vector<std::byte> BytesOf(const Lease& lease) {
  return {lease.bytes().begin(), lease.bytes().end()};
}

class ShardCopyTest : public ::testing::Test {
 protected:
  // A gradient of row 7.
  ShardResult Update(Shard& shard, uint64_t step, uint64_t round = 0) {
    const std::vector<uint32_t> rows = {7};
    const std::vector<float> gradient(kWidth, 1.0f);
    ShardUpdate update;
    update.id.step = step;
    update.id.round = round;
    update.by_rows = true;
    update.rows = rows;
    update.values = std::as_bytes(std::span(gradient));
    return shard.Apply(update, 0, context_.get_executor());
  }

  // An update while there is a snapshot.
  void UpdateBesideSnapshot(Shard& shard, uint64_t step) {
    ShardHold hold;
    ASSERT_TRUE(shard.BeginSnapshot(hold));
    Copy(shard);
    EXPECT_EQ(Update(shard, step).outcome, Outcome::kApplied);
    shard.EndSnapshot(hold);
  }

  // Runs CopyLeased; returns how many turns of the executor that took.
  size_t Copy(Shard& shard) {
    std::optional<absl::Status> result;
    asio::co_spawn(
        context_, [&]() -> Task<> { result = co_await CopyLeased(shard); },
        asio::detached);
    context_.restart();
    const size_t turns = context_.run();
    EXPECT_TRUE(result.has_value());
    EXPECT_OK(result.value_or(absl::UnknownError("it has not ended")));
    return turns;
  }

  asio::io_context context_;
};

TEST_F(ShardCopyTest, AnUpdateOfALargeShardHasItCopiedFirst) {
  const std::shared_ptr<Shard> shard = Table(kLargeRows);
  ShardHold hold;
  ASSERT_TRUE(shard->BeginSnapshot(hold));
  const std::vector<std::byte> before = BytesOf(hold.parts[0]);
  EXPECT_TRUE(Update(*shard, 1).copy_first);
  EXPECT_EQ(shard->version(), 1u);
  // 19.2 MB in pieces of 4 MiB: the thread is free in between.
  EXPECT_GE(Copy(*shard), 5u);
  const ShardResult result = Update(*shard, 1);
  EXPECT_OK(result.status);
  EXPECT_FALSE(result.copy_first);
  EXPECT_EQ(result.outcome, Outcome::kApplied);
  EXPECT_EQ(shard->version(), 2u);
  // The copy has changed in row 7 alone; what is held has not changed.
  EXPECT_EQ(BytesOf(hold.parts[0]), before);
  std::vector<std::byte> after = BytesOf(shard->Pull());
  constexpr size_t kRow = kWidth * sizeof(float);
  EXPECT_NE(std::memcmp(&after[7 * kRow], &before[7 * kRow], kRow), 0);
  std::memcpy(&after[7 * kRow], &before[7 * kRow], kRow);
  EXPECT_EQ(after, before);
}

TEST_F(ShardCopyTest, ASmallOneIsCopiedAtOnce) {
  const std::shared_ptr<Shard> shard = Table(kSmallRows);
  ShardHold hold;
  ASSERT_TRUE(shard->BeginSnapshot(hold));
  EXPECT_EQ(Update(*shard, 1).outcome, Outcome::kApplied);
  EXPECT_EQ(shard->version(), 2u);
}

TEST_F(ShardCopyTest, OneThatIsNotLeasedIsNotCopied) {
  const std::shared_ptr<Shard> shard = Table(kLargeRows);
  EXPECT_FALSE(Update(*shard, 1).copy_first);
  EXPECT_EQ(shard->version(), 2u);
  EXPECT_EQ(*shard->BeginCopy(), nullptr);
}

TEST_F(ShardCopyTest, UpdatesWaitForTheCopy) {
  const std::shared_ptr<Shard> shard = Table(kLargeRows);
  ShardHold hold;
  ASSERT_TRUE(shard->BeginSnapshot(hold));
  const std::unique_ptr<PartCopies> copies = *shard->BeginCopy();
  ASSERT_NE(copies, nullptr);
  EXPECT_EQ(*shard->BeginCopy(), nullptr) << "two at once";
  EXPECT_NE(Update(*shard, 1).wait, nullptr);
  ShardResult streamed;
  UpdateId id;
  id.step = 2;
  EXPECT_EQ(shard->BeginStream(id, 1, 0, 0, streamed), nullptr);
  shard->EndCopy(*copies);
  EXPECT_EQ(Update(*shard, 1).wait, nullptr);
}

TEST_F(ShardCopyTest, WhatWasRestoredMeanwhileStays) {
  const std::shared_ptr<Shard> shard = Table(kLargeRows);
  ShardHold hold;
  ASSERT_TRUE(shard->BeginSnapshot(hold));
  const std::unique_ptr<PartCopies> copies = *shard->BeginCopy();
  ASSERT_NE(copies, nullptr);
  std::vector<std::shared_ptr<Values>> restored;
  for (size_t part = 0; part < shard->num_parts(); ++part) {
    restored.push_back(*shard->AllocatePart(part, Fill::kZero));
  }
  const Values* values = restored[0].get();
  shard->Restore(restored, OptimizerState());
  shard->EndCopy(*copies);
  EXPECT_EQ(shard->Pull().bytes().data(), values->memory.data());
}

TEST_F(ShardCopyTest, OneThatIsDroppedMeanwhileHoldsNothing) {
  const std::shared_ptr<Shard> shard = Table(kLargeRows);
  ShardHold hold;
  ASSERT_TRUE(shard->BeginSnapshot(hold));
  const std::unique_ptr<PartCopies> copies = *shard->BeginCopy();
  ASSERT_NE(copies, nullptr);
  shard->Drop();
  shard->EndCopy(*copies);
  EXPECT_EQ(Update(*shard, 1).status.code(), absl::StatusCode::kAborted);
}

TEST_F(ShardCopyTest, TheMemoryBesideASnapshotIsForTheNext) {
  const std::shared_ptr<Shard> shard = Table(kLargeRows);
  const std::byte* const first = MemoryOf(*shard);
  UpdateBesideSnapshot(*shard, 1);
  const std::byte* const second = MemoryOf(*shard);
  EXPECT_NE(first, second);
  UpdateBesideSnapshot(*shard, 2);
  EXPECT_EQ(MemoryOf(*shard), first);
  UpdateBesideSnapshot(*shard, 3);
  EXPECT_EQ(MemoryOf(*shard), second);
}

TEST_F(ShardCopyTest, WhereMemoryIsScarceItIsGivenBack) {
  // Enough for two versions, and for little else.
  const uint64_t bytes = BytesOfTable(kLargeRows);
  const std::shared_ptr<Shard> shard =
      Table(kLargeRows, Async{}, 2 * bytes + bytes / 4);
  UpdateBesideSnapshot(*shard, 1);
  EXPECT_EQ(shard->TakeSpares()[0], nullptr);
  UpdateBesideSnapshot(*shard, 2);
}

TEST_F(ShardCopyTest, WhatIsRestoredMayLieInIt) {
  const std::shared_ptr<Shard> shard = Table(kLargeRows);
  EXPECT_EQ(shard->TakeSpares()[0], nullptr);
  const std::byte* const first = MemoryOf(*shard);
  UpdateBesideSnapshot(*shard, 1);
  const std::byte* const second = MemoryOf(*shard);
  auto spares = shard->TakeSpares();
  for (size_t part = 0; part < shard->num_parts(); ++part) {
    ASSERT_NE(spares[part], nullptr);
    EXPECT_EQ(spares[part]->memory.size(), shard->part_bytes(part));
  }
  EXPECT_EQ(spares[0]->memory.data(), first);
  EXPECT_EQ(shard->TakeSpares()[0], nullptr) << "there is one";
  shard->Restore(spares, OptimizerState());
  EXPECT_EQ(MemoryOf(*shard), first);
  EXPECT_EQ(shard->TakeSpares()[0]->memory.data(), second);
}

TEST_F(ShardCopyTest, NotWhileItIsReadOrASnapshotMayNeedIt) {
  const std::shared_ptr<Shard> shard = Table(kLargeRows);
  std::optional<Lease> pull(shard->Pull());
  UpdateBesideSnapshot(*shard, 1);
  EXPECT_EQ(shard->TakeSpares()[0], nullptr) << "somebody reads it";
  pull.reset();
  ShardHold hold;
  ASSERT_TRUE(shard->BeginSnapshot(hold));
  EXPECT_EQ(shard->TakeSpares()[0], nullptr) << "the next update goes there";
  shard->EndSnapshot(hold);
  EXPECT_NE(shard->TakeSpares()[0], nullptr);
}

TEST_F(ShardCopyTest, NotWhatAnUpdateUnderWayReads) {
  const std::shared_ptr<Shard> shard = Table(kLargeRows);
  UpdateId id;
  id.step = 1;
  ShardResult result;
  const auto stream = shard->BeginStream(id, 1, 0, 0, result);
  ASSERT_NE(stream, nullptr);
  std::vector<std::shared_ptr<Values>> restored;
  for (size_t part = 0; part < shard->num_parts(); ++part) {
    restored.push_back(*shard->AllocatePart(part, Fill::kZero));
  }
  shard->Restore(restored, OptimizerState());
  EXPECT_EQ(shard->TakeSpares()[0], nullptr);
}

TEST_F(ShardCopyTest, LittleMemoryIsNotKept) {
  const std::shared_ptr<Shard> shard = Table(kSmallRows);
  UpdateBesideSnapshot(*shard, 1);
  EXPECT_EQ(shard->TakeSpares()[0], nullptr);
}

TEST_F(ShardCopyTest, ARoundOfRowsHasItCopiedFirst) {
  const std::shared_ptr<Shard> shard =
      Table(kLargeRows, Sync{.replicas = 1, .backup = 0});
  EXPECT_EQ(Update(*shard, 1, 1).outcome, Outcome::kStaged);
  EXPECT_FALSE(shard->RoundNeedsLargeCopy(1));
  ShardHold hold;
  ASSERT_TRUE(shard->BeginSnapshot(hold));
  EXPECT_TRUE(shard->RoundNeedsLargeCopy(1));
  EXPECT_FALSE(shard->RoundNeedsLargeCopy(2)) << "nothing is staged";
  Copy(*shard);
  EXPECT_FALSE(shard->RoundNeedsLargeCopy(1));
}

}  // namespace
}  // namespace capstan

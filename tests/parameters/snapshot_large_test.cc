// Snapshots of shards so large that they are copied piece by piece, while
// updates wait for it.
#include <gtest/gtest.h>

#include <cstring>
#include <future>
#include <vector>

#include "parameters/saving.h"

namespace capstan {
namespace {

using testing::ParameterJob;
using testing::Parts;
using testing::ReadParts;
using testing::Scatter;
using testing::SnapshotParts;
using testing::Spec;
using testing::TakeSnapshot;

constexpr int64_t kTableRows = 200'000;
constexpr int64_t kWidth = 8;

// 9.6 MB with its slots on each of two servers.
VariableSpec LargeTable(UpdateMode mode = Async{}) {
  VariableSpec spec = Spec("table", {kTableRows, kWidth});
  spec.initializer = Uniform{.seed = 1};
  spec.optimizer = Adam{.learning_rate = 0.1};
  spec.update = mode;
  return spec;
}

// The rows that update `i` changes, one on each server.
std::vector<int64_t> RowsOf(int64_t i) { return {i, kTableRows - 1 - i}; }

TEST(SnapshotLargeTest, UpdatesThatComeTogetherAreAllApplied) {
  constexpr int64_t kUpdates = 100;
  ParameterJob job({.servers = 2});
  const std::vector<ParameterClient*> clients = {
      &job.NewClient(), &job.NewClient(), &job.NewClient()};
  ASSERT_OK(job.Create({LargeTable()}, FixedShards(2)));
  const Parts before = ReadParts(job, "table");
  ASSERT_OK(TakeSnapshot(job, 1));
  const std::vector<float> gradient(2 * kWidth, 1.0f);
  std::vector<std::vector<int64_t>> ids;
  for (int64_t i = 0; i < kUpdates; ++i) ids.push_back(RowsOf(i));
  std::vector<RowsItem> items;
  for (const std::vector<int64_t>& rows : ids) {
    items.push_back(testing::Rows(job.Id("table"), rows, gradient));
  }
  std::vector<std::future<absl::StatusOr<UpdateResult>>> results;
  for (size_t i = 0; i < items.size(); ++i) {
    ParameterClient& client = *clients[i % clients.size()];
    results.push_back(
        job.Start(client, client.Update(job.NextStep(), Operation::kGradient,
                                        {}, std::span(&items[i], 1))));
  }
  for (auto& result : results) EXPECT_OK(result.get());
  EXPECT_EQ(SnapshotParts(job, "table", 1), before);
  const Parts after = ReadParts(job, "table");
  constexpr size_t kRowBytes = kWidth * sizeof(float);
  for (int64_t row = 0; row < kTableRows; ++row) {
    const bool updated = row < kUpdates || row >= kTableRows - kUpdates;
    const size_t at = static_cast<size_t>(row) * kRowBytes;
    for (size_t part = 0; part < after.size(); ++part) {
      const bool changed =
          std::memcmp(&after[part][at], &before[part][at], kRowBytes) != 0;
      ASSERT_EQ(changed, updated) << "row " << row << " of part " << part;
    }
  }
}

TEST(SnapshotLargeTest, ARoundIsCommitted) {
  ParameterJob job({.servers = 2});
  ASSERT_OK(job.Create({LargeTable(Sync{.replicas = 1, .backup = 0})},
                       FixedShards(2)));
  const Parts before = ReadParts(job, "table");
  ASSERT_OK(TakeSnapshot(job, 1));
  UpdateId id = job.NextStep();
  id.round = 1;
  const std::vector<float> gradient(2 * kWidth, 1.0f);
  ASSERT_OK(Scatter(job, job.chief(), id, "table", RowsOf(3), gradient));
  RoundRequest request;
  request.fence = job.fence();
  request.round = 1;
  request.replicas = {0};
  ASSERT_OK(job.Run(job.chief(), job.chief().Commit(request)));
  EXPECT_EQ(job.Status(0).committed_round, 1u);
  EXPECT_NE(ReadParts(job, "table"), before);
  EXPECT_EQ(SnapshotParts(job, "table", 1), before);
}

}  // namespace
}  // namespace capstan

// Many clients at once: nothing is lost, nothing is counted twice.
#include <gtest/gtest.h>

#include <vector>

#include "parameters/helpers.h"

namespace capstan {
namespace {

using testing::BytesOf;
using testing::Dense;
using testing::IsOkAndHolds;
using testing::ParameterJob;
using testing::Rows;
using testing::Spec;

constexpr int kClients = 4;
constexpr int kStepsEach = 200;

struct Work {
  UpdateId first;
  std::vector<DenseItem> dense;
  std::vector<RowsItem> rows;
  std::vector<uint32_t> read;
  size_t elements = 0;
};

// Each step twice, and a pull in between.
Task<absl::Status> Train(ParameterClient& client, Work work) {
  std::vector<std::vector<float>> values(work.read.size(),
                                         std::vector<float>(work.elements));
  std::vector<PullItem> pulls(work.read.size());
  for (size_t i = 0; i < pulls.size(); ++i) {
    pulls[i].variable = work.read[i];
    pulls[i].into = BytesOf(values[i]);
  }
  for (int i = 0; i < kStepsEach; ++i) {
    UpdateId id = work.first;
    id.step += static_cast<uint64_t>(i);
    for (int attempt = 0; attempt < 2; ++attempt) {
      const absl::StatusOr<UpdateResult> summary = co_await client.Update(
          id, Operation::kGradient, work.dense, work.rows);
      if (!summary.ok()) co_return summary.status();
      const absl::Status pulled = co_await client.Pull(pulls);
      if (!pulled.ok()) co_return pulled;
    }
  }
  co_return absl::OkStatus();
}

TEST(ConcurrencyTest, EveryUpdateCountsOnce) {
  ParameterJob job({.servers = 2, .threads = 2});
  ASSERT_OK(job.Create({Spec("a", {8}), Spec("b", {8}), Spec("c", {8})},
                       FixedShards(3)));
  const std::vector<float> ones(8, 1);
  const std::vector<int64_t> ids = {7, 0, 3, 7};
  const std::vector<float> rows(4, 1);
  std::vector<ParameterClient*> clients;
  for (int i = 0; i < kClients; ++i) clients.push_back(&job.NewClient());
  std::vector<std::future<absl::Status>> done;
  for (int i = 0; i < kClients; ++i) {
    Work work;
    work.first = job.NextStep();
    work.first.step = 1 + 10'000 * static_cast<uint64_t>(i);
    work.dense = {Dense(job.Id("a"), ones), Dense(job.Id("b"), ones)};
    work.rows = {Rows(job.Id("c"), ids, rows)};
    work.read = {job.Id("a"), job.Id("b"), job.Id("c")};
    work.elements = 8;
    ParameterClient& client = *clients[static_cast<size_t>(i)];
    done.push_back(job.Start(client, Train(client, work)));
  }
  for (std::future<absl::Status>& one : done) ASSERT_OK(one.get());
  constexpr float kAll = kClients * kStepsEach;
  EXPECT_THAT(job.Read("a"), IsOkAndHolds(std::vector<float>(8, -kAll)));
  EXPECT_THAT(job.Read("b"), IsOkAndHolds(std::vector<float>(8, -kAll)));
  EXPECT_THAT(job.Read("c"), IsOkAndHolds(std::vector<float>{
                                 -kAll, 0, 0, -kAll, 0, 0, 0, -2 * kAll}));
  const VariableReport report = job.Report("a");
  EXPECT_EQ(report.applied, static_cast<uint64_t>(kAll));
  EXPECT_EQ(report.duplicates, static_cast<uint64_t>(kAll));
  EXPECT_EQ(report.version, 1 + static_cast<uint64_t>(kAll));
}

// Two clients send the same steps: it does not matter who is first.
TEST(ConcurrencyTest, TheSameStepsFromTwoSenders) {
  ParameterJob job({.servers = 2, .threads = 2});
  ASSERT_OK(job.Create({Spec("a", {8})}, FixedShards(2)));
  const std::vector<float> ones(8, 1);
  std::vector<ParameterClient*> clients = {&job.NewClient(), &job.NewClient()};
  std::vector<std::future<absl::Status>> done;
  for (ParameterClient* client : clients) {
    Work work;
    work.first = {.fence = job.fence(), .step = 1};
    work.dense = {Dense(job.Id("a"), ones)};
    work.read = {job.Id("a")};
    work.elements = 8;
    done.push_back(job.Start(*client, Train(*client, work)));
  }
  for (std::future<absl::Status>& one : done) ASSERT_OK(one.get());
  EXPECT_THAT(job.Read("a"), IsOkAndHolds(std::vector<float>(8, -kStepsEach)));
}

// Variables come and go while others are used.
TEST(ConcurrencyTest, TheMapChangesUnderWay) {
  ParameterJob job({.servers = 2, .threads = 2});
  ASSERT_OK(job.Create({Spec("a", {8})}, FixedShards(2)));
  ParameterClient& client = job.NewClient();
  const std::vector<float> ones(8, 1);
  Work work;
  work.first = {.fence = job.fence(), .step = 1};
  work.dense = {Dense(job.Id("a"), ones)};
  work.read = {job.Id("a")};
  work.elements = 8;
  std::future<absl::Status> done = job.Start(client, Train(client, work));
  for (int i = 0; i < 20; ++i) {
    ASSERT_OK(job.Create({Spec("b", {100})}, FixedShards(2)));
    ASSERT_OK(job.Drop({"b"}));
  }
  ASSERT_OK(done.get());
  EXPECT_THAT(job.Read("a"), IsOkAndHolds(std::vector<float>(8, -kStepsEach)));
}

}  // namespace
}  // namespace capstan

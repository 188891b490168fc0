#include "coordinator/run_at_once.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <vector>

#include "testing/status_matchers.h"

namespace capstan {
namespace {

using Works = std::vector<std::function<absl::Status()>>;

TEST(RunAtOnceTest, RunsEachOnce) {
  std::vector<std::atomic<int>> runs(3 * kMostAtOnce + 1);
  Works works;
  for (std::atomic<int>& count : runs) {
    works.push_back([&count] {
      ++count;
      return absl::OkStatus();
    });
  }
  EXPECT_OK(RunAtOnce(works));
  for (const std::atomic<int>& count : runs) EXPECT_EQ(count, 1);
  EXPECT_OK(RunAtOnce({}));
}

// Would hang if they ran one after another.
TEST(RunAtOnceTest, TheyRunAtTheSameTime) {
  std::barrier all(static_cast<std::ptrdiff_t>(kMostAtOnce));
  const Works works(kMostAtOnce, [&] {
    all.arrive_and_wait();
    return absl::OkStatus();
  });
  EXPECT_OK(RunAtOnce(works));
}

TEST(RunAtOnceTest, AfterAnErrorNoMoreAreBegun) {
  std::atomic<size_t> runs = 0;
  const Works works(100, [&] {
    ++runs;
    return absl::DataLossError("bad");
  });
  EXPECT_EQ(RunAtOnce(works).code(), absl::StatusCode::kDataLoss);
  EXPECT_LE(runs, kMostAtOnce);
}

}  // namespace
}  // namespace capstan

// Bounded staleness: a reader waits for those who are too far behind.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "parameters/helpers.h"

namespace capstan {
namespace {

using testing::BytesOf;
using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::ParameterJob;
using testing::Push;
using testing::ReadAs;
using testing::Spec;
using testing::StatusIs;

class BoundedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    VariableSpec spec = Spec("w", {4});
    spec.update = BoundedStaleness{.replicas = 3, .bound = 1};
    ASSERT_OK(job_.Create({spec}, FixedShards(2)));
  }
  absl::Status Tick(uint64_t clock, std::vector<uint32_t> replicas) {
    RoundRequest request;
    request.fence = job_.fence();
    request.round = clock;
    request.replicas = std::move(replicas);
    return job_.Run(job_.chief(), job_.chief().Tick(request));
  }
  static ReadOptions At(uint64_t clock, Duration timeout) {
    ReadOptions options;
    options.round = clock;
    options.timeout = timeout;
    return options;
  }

  ParameterJob job_{{.servers = 2}};
};

TEST_F(BoundedTest, UpdatesTakeEffectWhenTheyCome) {
  ASSERT_OK(
      Push(job_, job_.chief(), job_.NextStep(), "w", std::vector<float>(4, 1)));
  EXPECT_THAT(job_.Read("w"), IsOkAndHolds(std::vector<float>(4, -1)));
}

TEST_F(BoundedTest, WithinTheBoundNobodyWaits) {
  for (const uint64_t clock : {0, 1, 2}) {
    EXPECT_OK(ReadAs<float>(job_, job_.chief(), "w",
                            At(clock, std::chrono::seconds(30))));
  }
}

TEST_F(BoundedTest, BeyondItAReaderWaitsForTheLast) {
  ParameterClient& worker = job_.NewClient();
  ASSERT_OK(job_.Run(worker, worker.Refresh()));
  std::vector<float> values(4);
  PullItem item;
  item.variable = job_.Id("w");
  item.into = BytesOf(values);
  const uint64_t before = job_.Requests(0) + job_.Requests(1);
  std::future<absl::Status> pull = job_.Start(
      worker,
      worker.Pull(std::span(&item, 1), At(3, std::chrono::minutes(10))));
  while (job_.Requests(0) + job_.Requests(1) < before + 2) {
    std::this_thread::yield();
  }
  ASSERT_OK(Tick(1, {0, 2}));
  ASSERT_OK(Tick(2, {0, 2}));
  ASSERT_OK(
      Push(job_, job_.chief(), job_.NextStep(), "w", std::vector<float>(4, 1)));
  EXPECT_EQ(pull.wait_for(std::chrono::seconds(0)),
            std::future_status::timeout);
  ASSERT_OK(Tick(1, {1}));
  ASSERT_OK(pull.get());
  EXPECT_EQ(values, std::vector<float>(4, -1));
}

TEST_F(BoundedTest, TheLateAreNamed) {
  ASSERT_OK(Tick(1, {0, 1, 2}));
  ASSERT_OK(Tick(2, {1}));
  EXPECT_THAT(
      ReadAs<float>(job_, job_.chief(), "w",
                    At(4, std::chrono::milliseconds(200))),
      StatusIs(absl::StatusCode::kDeadlineExceeded,
               HasSubstr("waited for replicas 0 (at 1), 2 (at 1) to be done "
                         "with clock 2")));
  ASSERT_OK(Tick(2, {0}));
  EXPECT_THAT(ReadAs<float>(job_, job_.chief(), "w",
                            At(4, std::chrono::milliseconds(200))),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       HasSubstr("waited for replica 2 (at 1) to be")));
}

TEST_F(BoundedTest, TicksMayComeTwiceAndInAnyOrder) {
  ASSERT_OK(Tick(2, {0, 1, 2}));
  ASSERT_OK(Tick(2, {0}));
  EXPECT_THAT(ReadAs<float>(job_, job_.chief(), "w",
                            At(3, std::chrono::milliseconds(200))),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  ASSERT_OK(Tick(1, {2, 1, 0}));
  ASSERT_OK(Tick(1, {1}));
  EXPECT_OK(
      ReadAs<float>(job_, job_.chief(), "w", At(4, std::chrono::seconds(30))));
}

TEST_F(BoundedTest, AReplicaThatThereIsNotIsRefused) {
  EXPECT_THAT(Tick(1, {0, 3}), StatusIs(absl::StatusCode::kInvalidArgument,
                                        HasSubstr("replica 3")));
}

}  // namespace
}  // namespace capstan

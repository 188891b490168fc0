#include "transport/deadline_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <asio/io_context.hpp>
#include <optional>
#include <vector>

#include "simulation/sim_clock.h"

namespace capstan {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;

class DeadlineQueueTest : public ::testing::Test {
 protected:
  void RunUntil(MonotonicTime time) {
    for (;;) {
      context_.restart();
      context_.poll();
      if (clock_.NextTime() > time) break;
      clock_.RunNext();
    }
    clock_.AdvanceTo(time);
  }

  SimClock clock_;  // outlives what sleeps on it
  asio::io_context context_;
  std::optional<DeadlineQueue> queue_{std::in_place, clock_,
                                      context_.get_executor()};
  std::vector<int> fired_;
};

TEST_F(DeadlineQueueTest, FiresInOrderOfTimeWhateverTheOrderOfAdding) {
  const MonotonicTime start = clock_.Now();
  queue_->Add(start + seconds(3), [&] { fired_.push_back(3); });
  queue_->Add(start + seconds(1), [&] { fired_.push_back(1); });
  RunUntil(start + seconds(1));
  EXPECT_THAT(fired_, ElementsAre(1));
  // Earlier than what the timer was set to, so it must be set again.
  queue_->Add(start + seconds(2), [&] { fired_.push_back(2); });
  RunUntil(start + seconds(2));
  EXPECT_THAT(fired_, ElementsAre(1, 2));
  RunUntil(start + seconds(10));
  EXPECT_THAT(fired_, ElementsAre(1, 2, 3));
}

TEST_F(DeadlineQueueTest, RemovedEntriesDoNotFire) {
  const MonotonicTime start = clock_.Now();
  {
    DeadlineQueue::Registration gone(*queue_, start + seconds(1),
                                     [&] { fired_.push_back(1); });
    RunUntil(start);
  }
  queue_->Add(start + seconds(2), [&] { fired_.push_back(2); });
  RunUntil(start + seconds(5));
  EXPECT_THAT(fired_, ElementsAre(2));
}

TEST_F(DeadlineQueueTest, ACallbackMayAddRemoveAndDestroy) {
  const MonotonicTime start = clock_.Now();
  const DeadlineQueue::Key other =
      queue_->Add(start + seconds(1), [&] { fired_.push_back(-1); });
  queue_->Remove(other);
  queue_->Add(start + seconds(1), [&] {
    fired_.push_back(1);
    queue_->Add(start, [&] { fired_.push_back(2); });
  });
  RunUntil(start + seconds(1));
  EXPECT_THAT(fired_, ElementsAre(1, 2));
  queue_->Add(start + seconds(2), [&] { queue_.reset(); });
  queue_->Add(start + seconds(2), [&] { fired_.push_back(-2); });
  RunUntil(start + seconds(3));
  EXPECT_THAT(fired_, ElementsAre(1, 2));
  EXPECT_FALSE(queue_.has_value());
}

}  // namespace
}  // namespace capstan

// Workers that join from many threads at once, while the coordinator calls
// them and others ask who is there. For the thread sanitizer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/async/io_thread.h"
#include "base/async/real_clock.h"
#include "base/async/run_on.h"
#include "membership/roster.h"
#include "testing/log_capture.h"
#include "testing/status_matchers.h"
#include "transport/inproc/inproc_network.h"
#include "transport/peer_channel.h"

namespace capstan::testing {
namespace {

constexpr int kThreads = 4;
constexpr int kJoins = 25;  // of each thread

Task<> Call(std::function<void()> function) {
  function();
  co_return;
}

TEST(JoinThreadsTest, EachGetsAnIndexOfItsOwn) {
  LogCapture log;
  Logger logger = log.NewLogger();
  RealClock clock;
  InprocNetwork network;
  std::atomic<int> changes = 0;
  IoThread thread;
  const ClusterSpec spec({{Role::kChief, {"inproc:chief"}},
                          {Role::kWorker, {"inproc:worker"}},
                          {Role::kPs, {"inproc:ps"}}});
  RosterOptions options;
  options.self.role = "chief";
  options.self.incarnation = 1;
  options.on_change = [&changes](const TaskEntry&) { ++changes; };
  const auto new_channel = [&](const TaskId& task, const std::string& address) {
    ChannelOptions channel;
    channel.self = options.self;
    channel.address = address;
    channel.expected_task = task.ToString();
    return NewPeerChannel(clock, network, logger, Random::FromOs(),
                          thread.executor(), channel);
  };
  std::unique_ptr<Roster> roster;
  const auto start = [&] {
    roster = std::make_unique<Roster>(clock, logger, thread.executor(), spec,
                                      options, new_channel);
    roster->Start();
  };
  RunOn(thread.executor(), Call(start));

  std::vector<std::vector<int>> indices(kThreads);
  std::vector<std::thread> joiners;
  for (int i = 0; i < kThreads; ++i) {
    joiners.emplace_back([&, i] {
      for (int j = 0; j < kJoins; ++j) {
        const std::string address = absl::StrCat("inproc:", i, "-", j);
        const absl::StatusOr<TaskId> task = roster->Join(address);
        ASSERT_OK(task);
        indices[static_cast<size_t>(i)].push_back(task->index);
        // It is there at once, for all to see.
        EXPECT_EQ(roster->Spec().task_address(*task), address);
        EXPECT_GE(roster->Report().tasks.size(), 3u);
        EXPECT_THAT(roster->Join(address), IsOkAndHolds(*task));
      }
    });
  }
  for (std::thread& joiner : joiners) joiner.join();

  std::set<int> different;
  for (const std::vector<int>& mine : indices) {
    different.insert(mine.begin(), mine.end());
  }
  EXPECT_EQ(different.size(), size_t{kThreads} * kJoins);
  EXPECT_EQ(*different.begin(), 1);
  EXPECT_EQ(*different.rbegin(), kThreads * kJoins);

  EXPECT_OK(RunOn(thread.executor(), roster->End()));
  // What was posted before the end has been done, what comes after is refused.
  EXPECT_EQ(changes, 2 * kThreads * kJoins);
  EXPECT_THAT(roster->Join("inproc:late"),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  const auto destroy = [&] { roster = nullptr; };
  RunOn(thread.executor(), Call(destroy));
}

}  // namespace
}  // namespace capstan::testing

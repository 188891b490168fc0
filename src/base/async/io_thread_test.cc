#include "base/async/io_thread.h"

#include <gtest/gtest.h>

#include <asio/post.hpp>
#include <future>
#include <set>
#include <thread>

#include "base/async/real_clock.h"
#include "base/async/run_on.h"

namespace capstan {
namespace {

Task<std::thread::id> WhichThread() { co_return std::this_thread::get_id(); }

TEST(IoThreadTest, RunsWhatIsPostedOnItsOwnThread) {
  IoThread thread;
  const std::thread::id first = RunOn(thread.executor(), WhichThread());
  const std::thread::id second = RunOn(thread.executor(), WhichThread());
  EXPECT_EQ(first, second);
  EXPECT_NE(first, std::this_thread::get_id());
}

TEST(IoThreadsTest, ExecutorsGoRoundTheThreads) {
  IoThreads threads(3);
  EXPECT_EQ(threads.size(), 3);
  std::set<std::thread::id> ids;
  for (size_t i = 0; i < 6; ++i) {
    ids.insert(RunOn(threads.executor(i), WhichThread()));
  }
  EXPECT_EQ(ids.size(), 3u);
}

struct Counted {
  explicit Counted(int& alive_in) : alive(alive_in) { ++alive; }
  ~Counted() { --alive; }
  int& alive;
};

Task<> SleepForEver(Clock& clock, Executor executor, int& alive,
                    std::promise<void>& started) {
  Counted counted(alive);
  std::unique_ptr<Timer> timer = clock.NewTimer(executor);
  started.set_value();
  co_await timer->SleepUntil(kNever);
}

TEST(IoThreadTest, DestructionDestroysSleepingCoroutines) {
  RealClock clock;
  int alive = 0;
  std::promise<void> started;
  {
    IoThread thread;
    Spawn(thread.executor(),
          SleepForEver(clock, thread.executor(), alive, started));
    started.get_future().wait();
  }
  EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace capstan

// Threads for code that blocks or computes, separate from the I/O threads.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/async/clock.h"
#include "base/async/task.h"
#include "base/async/waiter.h"

namespace capstan {

// Thread-safe.
class ComputeThreads {
 public:
  explicit ComputeThreads(int count);
  // Waits for running work; drops work that has not begun.
  ~ComputeThreads();
  ComputeThreads(const ComputeThreads&) = delete;
  ComputeThreads& operator=(const ComputeThreads&) = delete;

  // Runs `work` on one of the threads, in the order of the calls, and resumes
  // on the calling coroutine's executor when it is done. `work` must not throw,
  // and what it refers to must live until then.
  Task<> Run(std::function<void()> work);

  // Waits for at most `timeout` until no work is running or queued. Returns how
  // much still is.
  size_t AwaitIdle(Duration timeout);

 private:
  // Where the coroutine waits for its job. Lives on the coroutine's executor.
  struct End {
    explicit End(const Executor& executor) : waiter(executor) {}
    Waiter waiter;
    bool reached = false;
  };
  struct Job {
    std::function<void()> work;
    std::shared_ptr<End> end;
  };
  void Loop();

  std::mutex mutex_;
  std::condition_variable wake_;  // new work, or shutdown
  std::condition_variable idle_;  // nothing running or queued
  std::deque<Job> jobs_;          // guarded by mutex_
  size_t running_ = 0;            // guarded by mutex_
  bool stopping_ = false;         // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace capstan

#include "worker/compute_threads.h"

#include <asio/post.hpp>
#include <asio/this_coro.hpp>
#include <utility>

namespace capstan {

ComputeThreads::ComputeThreads(int count) {
  for (int i = 0; i < count; ++i) {
    threads_.emplace_back([this] { Loop(); });
  }
}

ComputeThreads::~ComputeThreads() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    jobs_.clear();
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Task<> ComputeThreads::Run(std::function<void()> work) {
  const Executor executor = co_await asio::this_coro::executor;
  const auto end = std::make_shared<End>(executor);
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back({.work = std::move(work), .end = end});
  }
  wake_.notify_one();
  // NOLINTNEXTLINE(bugprone-infinite-loop): the thread sets `reached`.
  while (!end->reached) co_await end->waiter.Sleep();
}

size_t ComputeThreads::AwaitIdle(Duration timeout) {
  std::unique_lock lock(mutex_);
  idle_.wait_for(lock, timeout,
                 [this] { return jobs_.empty() && running_ == 0; });
  return jobs_.size() + running_;
}

void ComputeThreads::Loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    ++running_;
    lock.unlock();
    job.work();
    job.work = nullptr;
    const Executor executor = job.end->waiter.executor();
    asio::post(executor, [end = std::move(job.end)] {
      end->reached = true;
      // Resumes the coroutine at once: this runs in its own handler.
      end->waiter.WakeNow();
    });
    lock.lock();
    --running_;
    if (jobs_.empty() && running_ == 0) idle_.notify_all();
  }
}

}  // namespace capstan

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
  Job job;
  job.work = std::move(work);
  job.executor = co_await asio::this_coro::executor;
  const auto done = std::make_shared<Event>(job.executor);
  job.done = done;
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  wake_.notify_one();
  co_await done->Wait();
}

size_t ComputeThreads::busy() const {
  const std::lock_guard lock(mutex_);
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
    asio::post(job.executor, [done = std::move(job.done)] { done->Set(); });
    lock.lock();
    --running_;
  }
}

}  // namespace capstan

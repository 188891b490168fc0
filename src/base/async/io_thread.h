// Threads that run executors: one thread per io_context, so no locks are
// needed.
#pragma once

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <memory>
#include <thread>
#include <vector>

#include "base/async/task.h"

namespace capstan {

// A thread that runs what is posted to its executor until destroyed.
// Destruction stops the thread after the handler that is running, then destroys
// the remaining coroutines: objects that they point to must outlive this.
// Thread-safe.
class IoThread {
 public:
  IoThread();
  ~IoThread();
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  Executor executor() { return context_.get_executor(); }

  // Stops the thread and waits for it. Remaining coroutines are destroyed
  // later, with this object. Not thread-safe; calls after the first do nothing.
  void Stop();

 private:
  void Run();
  // Runs handlers that are ready or become ready within a short time. Returns
  // false if there were none.
  bool Spin();

  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::thread thread_;
};

// A pool of IoThreads. Destruction stops all of them before it destroys the
// first, so that none posts to one that is being destroyed. Thread-safe.
class IoThreads {
 public:
  explicit IoThreads(int count);
  ~IoThreads();
  // IoThread::Stop for all of them.
  void Stop();
  int size() const { return static_cast<int>(threads_.size()); }
  // The executor of thread `index` modulo the number of threads.
  Executor executor(size_t index) {
    return threads_[index % threads_.size()]->executor();
  }

 private:
  std::vector<std::unique_ptr<IoThread>> threads_;
};

}  // namespace capstan

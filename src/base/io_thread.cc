#include "base/io_thread.h"

namespace capstan {

IoThread::IoThread()
    : work_(asio::make_work_guard(context_)),
      thread_([this] { context_.run(); }) {}

IoThread::~IoThread() { Stop(); }

void IoThread::Stop() {
  if (!thread_.joinable()) return;
  context_.stop();
  thread_.join();
}

IoThreads::IoThreads(int count) {
  for (int i = 0; i < count; ++i) {
    threads_.push_back(std::make_unique<IoThread>());
  }
}

IoThreads::~IoThreads() {
  for (const std::unique_ptr<IoThread>& thread : threads_) thread->Stop();
}

}  // namespace capstan

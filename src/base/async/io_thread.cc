#include "base/async/io_thread.h"

#include <algorithm>
#include <chrono>

namespace capstan {
namespace {

// The next event often comes at once: the answer to what was just sent, or the
// next request of the peer just answered. Waking a sleeping thread costs more
// than the whole exchange (30 us against 10 us on a virtual machine, see
// docs/decisions/004), so a thread polls for this long before it sleeps.
constexpr std::chrono::microseconds kSpin(20);
// After this many fruitless polls in a row it stops polling: either events are
// far apart, or its peer is waiting for this very core;
constexpr int kMaxMisses = 8;
// but it polls again after this many handlers.
constexpr int kProbeEvery = 64;

}  // namespace

IoThread::IoThread()
    : work_(asio::make_work_guard(context_)), thread_([this] { Run(); }) {}

IoThread::~IoThread() { Stop(); }

void IoThread::Run() {
  int misses = 0;
  while (!context_.stopped()) {
    if (misses == kMaxMisses) {
      for (int i = 0; i < kProbeEvery; ++i) context_.run_one();
    }
    // Handlers that are ready now say nothing about what comes next.
    while (context_.poll() > 0) {
    }
    if (Spin()) {
      misses = 0;
    } else {
      misses = std::min(misses + 1, kMaxMisses);
      context_.run_one();
    }
  }
}

bool IoThread::Spin() {
  const auto end = std::chrono::steady_clock::now() + kSpin;
  size_t done = 0;
  do {
    done = context_.poll();
  } while (done == 0 && std::chrono::steady_clock::now() < end);
  return done > 0;
}

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

IoThreads::~IoThreads() { Stop(); }

void IoThreads::Stop() {
  for (const std::unique_ptr<IoThread>& thread : threads_) thread->Stop();
}

}  // namespace capstan

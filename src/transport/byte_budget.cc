#include "transport/byte_budget.h"

#include <asio/post.hpp>
#include <utility>

#include "absl/cleanup/cleanup.h"

namespace capstan {

bool ByteBudget::TryAcquire(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (!waiting_.empty() || bytes > limit_ - used_) return false;
  used_ += bytes;
  return true;
}

Task<> ByteBudget::Acquire(Executor executor, uint64_t bytes) {
  auto entry = std::make_shared<Entry>(executor, bytes);
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(entry);
    GrantLocked();
  }
  bool taken = false;
  // If the coroutine is destroyed before it has taken the bytes, releases them,
  // or its place in the queue, to the others.
  const absl::Cleanup give_up = [this, &entry, &taken] {
    if (taken) return;
    const std::lock_guard lock(mutex_);
    if (entry->granted) {
      used_ -= entry->bytes;
    } else {
      waiting_.remove(entry);
    }
    GrantLocked();
  };
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (entry->granted) break;
    }
    co_await entry->waiter.Sleep();
  }
  taken = true;
}

void ByteBudget::Release(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  used_ -= bytes;
  GrantLocked();
}

uint64_t ByteBudget::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

void ByteBudget::GrantLocked() {
  while (!waiting_.empty()) {
    const std::shared_ptr<Entry> first = waiting_.front();
    if (first->bytes > limit_ - used_) return;
    used_ += first->bytes;
    first->granted = true;
    waiting_.pop_front();
    // The waiter may be used on its own executor only.
    asio::post(first->waiter.executor(),
               [first]() mutable { first->waiter.Wake(); });
  }
}

}  // namespace capstan

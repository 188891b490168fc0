// A limit on bytes in memory, shared by connections on several threads.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

#include "base/async/task.h"
#include "base/async/waiter.h"

namespace capstan {

// First come, first served. Thread-safe.
class ByteBudget {
 public:
  explicit ByteBudget(uint64_t limit) : limit_(limit) {}

  // Takes `bytes` if they fit and nobody is waiting.
  bool TryAcquire(uint64_t bytes);

  // Waits on the calling coroutine's executor, `executor`, until `bytes` fit,
  // and takes them. `bytes` must not exceed limit().
  Task<> Acquire(Executor executor, uint64_t bytes);

  // Returns bytes taken by Acquire or TryAcquire.
  void Release(uint64_t bytes);

  uint64_t limit() const { return limit_; }
  uint64_t used() const;

 private:
  struct Entry {
    Entry(const Executor& executor, uint64_t bytes_in)
        : waiter(executor), bytes(bytes_in) {}
    Waiter waiter;  // used on its executor only
    const uint64_t bytes;
    bool granted = false;  // guarded by mutex_
  };

  // Grants from the front of the queue while there is room.
  void GrantLocked();

  const uint64_t limit_;
  mutable std::mutex mutex_;
  uint64_t used_ = 0;                          // guarded by mutex_
  std::list<std::shared_ptr<Entry>> waiting_;  // guarded by mutex_
};

// Bytes taken from a budget; released when this object is destroyed.
class HeldBytes {
 public:
  HeldBytes() = default;
  HeldBytes(ByteBudget& budget, uint64_t bytes)
      : budget_(&budget), bytes_(bytes) {}
  HeldBytes(HeldBytes&& other) noexcept { *this = std::move(other); }
  HeldBytes& operator=(HeldBytes&& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~HeldBytes() {
    if (budget_ != nullptr) budget_->Release(bytes_);
  }
  uint64_t bytes() const { return bytes_; }

 private:
  ByteBudget* budget_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace capstan

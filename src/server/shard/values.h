// One version of the values of a shard, or of one of its slots. While it is
// being sent to a client it must not change; an update makes a new version in
// other memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/bytes.h"
#include "server/shard/memory_budget.h"
#include "tensor/buffer.h"

namespace capstan {

// The bytes are used in the shard's turn or through a lease; the count of
// leases by any thread.
struct Values {
  Buffer memory;
  BudgetShare share;
  std::atomic<uint32_t> leases = 0;

  bool leased() const { return leases.load(std::memory_order_acquire) != 0; }
};

// Keeps a version unchanged. Made in the shard's turn; released on any thread.
// Move-only.
class Lease {
 public:
  explicit Lease(std::shared_ptr<Values> values) : values_(std::move(values)) {
    values_->leases.fetch_add(1, std::memory_order_relaxed);
  }
  Lease(Lease&&) noexcept = default;
  Lease& operator=(Lease&&) = delete;
  ~Lease() {
    if (values_ != nullptr) {
      values_->leases.fetch_sub(1, std::memory_order_release);
    }
  }
  Bytes bytes() const { return values_->memory.bytes(); }
  bool Holds(const std::shared_ptr<Values>& values) const {
    return values_ == values;
  }

 private:
  std::shared_ptr<Values> values_;
};

}  // namespace capstan

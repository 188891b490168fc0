// The values of a shard, or one of its slots, of one version. While somebody
// sends them to a client they must not change, and an update makes a new
// version in other memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/bytes.h"
#include "server/shard/memory_budget.h"
#include "tensor/buffer.h"

namespace capstan {

// The bytes are touched in the shard's turn or through a lease; the count of
// leases by anyone.
struct Values {
  Buffer memory;
  BudgetShare share;
  std::atomic<uint32_t> leases = 0;

  bool leased() const { return leases.load(std::memory_order_acquire) != 0; }
};

// Keeps a version as it is. Made in the shard's turn; given back anywhere.
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

// How much memory the variables of a server may use, and how much they do.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace capstan {

// Thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(uint64_t limit) : limit_(limit) {}

  bool TryTake(uint64_t bytes) {
    uint64_t used = used_.load(std::memory_order_relaxed);
    do {
      // After Charge, more than the limit may be in use.
      if (bytes > 0 && (used >= limit_ || bytes > limit_ - used)) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes,
                                          std::memory_order_relaxed));
    return true;
  }
  // Takes `bytes` even if that exceeds the limit; TryTake then fails until
  // enough is given back.
  void Charge(uint64_t bytes) {
    used_.fetch_add(bytes, std::memory_order_relaxed);
  }
  void Give(uint64_t bytes) {
    used_.fetch_sub(bytes, std::memory_order_relaxed);
  }

  uint64_t limit() const { return limit_; }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  const uint64_t limit_;
  std::atomic<uint64_t> used_ = 0;
};

// Bytes taken from a budget and given back by the destructor. Move-only. Shares
// the budget, as values may still be in transit to a client after their server
// is gone.
class BudgetShare {
 public:
  // Nothing, from no budget.
  BudgetShare() = default;
  // Takes `bytes`; nullopt if not enough are left.
  static std::optional<BudgetShare> Take(std::shared_ptr<MemoryBudget> budget,
                                         uint64_t bytes) {
    if (!budget->TryTake(bytes)) return std::nullopt;
    return BudgetShare(std::move(budget), bytes);
  }
  // The same for memory that is needed however much is left.
  static BudgetShare Charge(std::shared_ptr<MemoryBudget> budget,
                            uint64_t bytes) {
    budget->Charge(bytes);
    return BudgetShare(std::move(budget), bytes);
  }
  BudgetShare(BudgetShare&& other) noexcept
      : budget_(std::move(other.budget_)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  BudgetShare& operator=(BudgetShare&& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~BudgetShare() {
    if (budget_ != nullptr) budget_->Give(bytes_);
  }

 private:
  BudgetShare(std::shared_ptr<MemoryBudget> budget, uint64_t bytes)
      : budget_(std::move(budget)), bytes_(bytes) {}

  std::shared_ptr<MemoryBudget> budget_;
  uint64_t bytes_ = 0;
};

}  // namespace capstan

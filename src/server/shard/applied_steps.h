// Which updates a shard has applied: all up to a watermark, and a list of those
// above it.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/shard/memory_budget.h"

namespace capstan {

// Uses, and charges to the budget, memory in proportion to the updates above
// the watermark. Not thread-safe.
class AppliedSteps {
 public:
  // More updates than this above the watermark are refused, so that a
  // coordinator that does not move the watermark is noticed before memory runs
  // out.
  static constexpr size_t kMost = size_t{1} << 20;

  explicit AppliedSteps(std::shared_ptr<MemoryBudget> budget)
      : budget_(std::move(budget)) {}

  // Whether the update was applied. Steps up to `watermark` were.
  bool Contains(uint64_t step, uint32_t push, uint64_t watermark) const {
    if (step <= watermark) return true;
    // Most are newer than all others.
    const Update update = {.step = step, .push = push};
    return !updates_.empty() && updates_.back() >= update && Find(update);
  }

  // OK if there is room for one more; else ResourceExhausted.
  absl::Status CheckRoom(uint64_t watermark);

  // Charges the memory even if the budget is used up: an update that was
  // applied must not be forgotten, and one that is refused might be the one
  // that the watermark is waiting for.
  void Add(uint64_t step, uint32_t push, uint64_t watermark);

  // Frees the memory of updates at or below the watermark.
  void Forget(uint64_t watermark);

  size_t size() const { return updates_.size() - begin_; }

 private:
  struct Update {
    uint64_t step = 0;
    uint32_t push = 0;
    auto operator<=>(const Update&) const = default;
  };

  bool Find(const Update& update) const;
  // Skips updates at or below the watermark.
  void Skip(uint64_t watermark) {
    while (begin_ < updates_.size() && updates_[begin_].step <= watermark) {
      ++begin_;
    }
  }
  // Moves the remaining updates to memory for `capacity`.
  void MoveTo(size_t capacity);

  const std::shared_ptr<MemoryBudget> budget_;
  // Ascending, which is approximately the order in which they come.
  std::vector<Update> updates_;
  size_t begin_ = 0;   // those before it are at or below the watermark
  BudgetShare share_;  // of the memory of updates_
};

}  // namespace capstan

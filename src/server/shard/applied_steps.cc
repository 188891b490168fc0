#include "server/shard/applied_steps.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"

namespace capstan {
namespace {

// The minimum number of updates for which memory is allocated.
constexpr size_t kLeast = 16;

}  // namespace

bool AppliedSteps::Find(const Update& update) const {
  return std::binary_search(updates_.begin() + static_cast<ptrdiff_t>(begin_),
                            updates_.end(), update);
}

absl::Status AppliedSteps::CheckRoom(uint64_t watermark) {
  if (size() < kMost) return absl::OkStatus();
  Skip(watermark);
  if (size() < kMost) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      size(), " updates since step ", watermark,
      ", up to which the coordinator has said that all is done; it must move "
      "this watermark before there can be more"));
}

void AppliedSteps::Add(uint64_t step, uint32_t push, uint64_t watermark) {
  Skip(watermark);
  if (updates_.size() == updates_.capacity()) {
    // At least half of it is free then, so as many more updates fit before they
    // are moved again.
    MoveTo(std::max(kLeast, std::bit_ceil(2 * size())));
  }
  const Update update = {.step = step, .push = push};
  auto place = updates_.end();
  if (size() > 0 && updates_.back() >= update) {
    place = std::lower_bound(updates_.begin() + static_cast<ptrdiff_t>(begin_),
                             place, update);
    if (*place == update) return;
  }
  updates_.insert(place, update);
}

void AppliedSteps::Forget(uint64_t watermark) {
  Skip(watermark);
  if (begin_ > 0) MoveTo(size());
}

void AppliedSteps::MoveTo(size_t capacity) {
  if (capacity == updates_.capacity()) {
    updates_.erase(updates_.begin(),
                   updates_.begin() + static_cast<ptrdiff_t>(begin_));
  } else {
    std::vector<Update> moved;
    moved.reserve(capacity);
    moved.insert(moved.end(), updates_.begin() + static_cast<ptrdiff_t>(begin_),
                 updates_.end());
    updates_ = std::move(moved);
    share_ = BudgetShare();
    share_ = BudgetShare::Charge(budget_, updates_.capacity() * sizeof(Update));
  }
  begin_ = 0;
}

}  // namespace capstan

#include "simulate/digits/shard_history.h"

#include <iterator>

#include "absl/strings/str_cat.h"

namespace capstan::simulate {

void ShardHistory::OnInvoke(size_t slot) {
  if (allowed_.Contains(slot)) return;
  allowed_.Insert(slot);
  starts_[slot] = {.order = next_order_++, .acked = acked_};
}

SlotSet ShardHistory::MustSee() const {
  SlotSet must = acked_;
  must.Insert(seen_);
  return must;
}

std::string ShardHistory::OnRead(const SlotSet& must, const SlotSet& seen) {
  if (const std::optional<size_t> slot = seen.FirstNotIn(allowed_)) {
    return absl::StrCat("update ", *slot,
                        " is there, which nobody has sent or which was fenced");
  }
  if (const std::optional<size_t> slot = must.FirstNotIn(seen)) {
    return absl::StrCat("update ", *slot,
                        acked_.Contains(*slot) ? " is lost: it was acknowledged"
                                               : " is lost: it had been seen");
  }
  std::string wrong = CheckOrder(seen);
  if (wrong.empty()) wrong = CheckChain(seen);
  seen_.Insert(seen);
  return wrong;
}

std::string ShardHistory::CheckOrder(const SlotSet& seen) const {
  // The acknowledged set only grows, so that of the update sent last includes
  // those of all others.
  const Start* last = nullptr;
  size_t last_slot = 0;
  seen.ForEach([&](size_t slot) {
    const Start& start = starts_.at(slot);
    if (last != nullptr && last->order > start.order) return;
    last = &start;
    last_slot = slot;
  });
  if (last == nullptr) return "";
  const std::optional<size_t> slot = last->acked.FirstNotIn(seen);
  if (!slot) return "";
  return absl::StrCat("update ", last_slot, " is there, but not ", *slot,
                      ", which was acknowledged before that was sent");
}

std::string ShardHistory::CheckChain(const SlotSet& seen) {
  const size_t size = seen.size();
  const auto [place, added] = chain_.try_emplace(size, seen);
  const char* kNone = "two have seen updates that the other has not: ";
  if (!added) {
    const std::optional<size_t> slot = seen.FirstNotIn(place->second);
    return slot ? absl::StrCat(kNone, *slot) : "";
  }
  if (place != chain_.begin()) {
    const auto slot = std::prev(place)->second.FirstNotIn(seen);
    if (slot) return absl::StrCat(kNone, *slot);
  }
  if (const auto next = std::next(place); next != chain_.end()) {
    const auto slot = seen.FirstNotIn(next->second);
    if (slot) return absl::StrCat(kNone, *slot);
  }
  return "";
}

}  // namespace capstan::simulate

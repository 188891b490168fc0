// A set of slots: see digit_code.h.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace capstan::simulate {

// A value. Not thread-safe.
class SlotSet {
 public:
  void Insert(size_t slot) {
    if (slot / 64 >= words_.size()) words_.resize(slot / 64 + 1);
    words_[slot / 64] |= uint64_t{1} << (slot % 64);
  }

  void Insert(const SlotSet& other) {
    if (other.words_.size() > words_.size()) words_.resize(other.words_.size());
    for (size_t i = 0; i < other.words_.size(); ++i) {
      words_[i] |= other.words_[i];
    }
  }

  bool Contains(size_t slot) const {
    return slot / 64 < words_.size() &&
           (words_[slot / 64] >> (slot % 64) & 1) != 0;
  }

  size_t size() const {
    size_t size = 0;
    for (const uint64_t word : words_) {
      size += static_cast<size_t>(std::popcount(word));
    }
    return size;
  }

  // The smallest slot that is in this set but not in `other`.
  std::optional<size_t> FirstNotIn(const SlotSet& other) const {
    for (size_t i = 0; i < words_.size(); ++i) {
      const uint64_t theirs = i < other.words_.size() ? other.words_[i] : 0;
      const uint64_t mine = words_[i] & ~theirs;
      if (mine != 0) {
        return 64 * i + static_cast<size_t>(std::countr_zero(mine));
      }
    }
    return std::nullopt;
  }

  // Calls `visit` with each slot, in order.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (size_t i = 0; i < words_.size(); ++i) {
      for (uint64_t word = words_[i]; word != 0; word &= word - 1) {
        visit(64 * i + static_cast<size_t>(std::countr_zero(word)));
      }
    }
  }

 private:
  std::vector<uint64_t> words_;
};

}  // namespace capstan::simulate

// Exact digits: how a shard's values tell which updates it has had, and how
// often. docs/decisions/011-exact-digits.md.
//
// Every update of a job has a slot, a number that is never reused. It adds
// 16^(slot mod 6) to element slot / 6 of every shard. The sums are integers
// below 2^24, exact as f32 in any order, and the base-16 digits of an element
// count how often each of its six slots was added, up to 15 times. Pure
// functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "simulate/digits/slot_set.h"

namespace capstan::simulate {

inline constexpr size_t kSlotsPerElement = 6;

struct DigitPlace {
  size_t element = 0;
  float weight = 0;
};
DigitPlace PlaceOfSlot(size_t slot);

// How many elements a shard needs for slots [0, slots).
constexpr size_t ElementsFor(size_t slots) {
  return (slots + kSlotsPerElement - 1) / kSlotsPerElement;
}

// What a shard's values say.
struct Decoded {
  SlotSet slots;                 // the slots that were added
  std::vector<size_t> repeated;  // of them, those added more than once
  bool readable = true;          // all values are sums of this form
};
// Element i is values[i * stride].
Decoded DecodeDigits(std::span<const float> values, size_t stride = 1);

}  // namespace capstan::simulate

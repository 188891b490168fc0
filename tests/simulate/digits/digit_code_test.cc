#include "simulate/digits/digit_code.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace capstan::simulate {
namespace {

constexpr size_t kSlots = 20;

// The values of a shard after these updates, in this order.
std::vector<float> Values(const std::vector<size_t>& slots) {
  std::vector<float> values(ElementsFor(kSlots));
  for (const size_t slot : slots) {
    const DigitPlace place = PlaceOfSlot(slot);
    values.at(place.element) += place.weight;
  }
  return values;
}

TEST(DigitCodeTest, EverySlotHasADigitOfItsOwn) {
  for (size_t slot = 0; slot < kSlots; ++slot) {
    const Decoded decoded = DecodeDigits(Values({slot}));
    EXPECT_TRUE(decoded.readable);
    EXPECT_TRUE(decoded.repeated.empty());
    EXPECT_EQ(decoded.slots.size(), 1u);
    EXPECT_TRUE(decoded.slots.Contains(slot));
  }
}

TEST(DigitCodeTest, AllSlotsAtOnceAreExact) {
  std::vector<size_t> all;
  for (size_t slot = kSlots; slot-- > 0;) all.push_back(slot);
  const Decoded decoded = DecodeDigits(Values(all));
  EXPECT_TRUE(decoded.readable);
  EXPECT_TRUE(decoded.repeated.empty());
  EXPECT_EQ(decoded.slots.size(), kSlots);
}

TEST(DigitCodeTest, NamesWhatWasAddedMoreThanOnce) {
  std::vector<size_t> slots(15, 4);
  slots.push_back(5);
  slots.push_back(11);
  slots.push_back(11);
  const Decoded decoded = DecodeDigits(Values(slots));
  EXPECT_TRUE(decoded.readable);
  EXPECT_EQ(decoded.repeated, (std::vector<size_t>{4, 11}));
  EXPECT_EQ(decoded.slots.size(), 3u);
}

TEST(DigitCodeTest, WhatIsNoSumIsNotReadable) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const float value : {-1.0f, 0.5f, 16777216.0f, kNan}) {
    EXPECT_FALSE(DecodeDigits(std::vector<float>{0, value}).readable) << value;
  }
}

TEST(DigitCodeTest, ReadsOneColumnOfSeveral) {
  const Decoded decoded = DecodeDigits(std::vector<float>{1, 7, 16, 7}, 2);
  EXPECT_EQ(decoded.slots.size(), 2u);
  EXPECT_TRUE(decoded.slots.Contains(0));
  EXPECT_TRUE(decoded.slots.Contains(kSlotsPerElement + 1));
}

}  // namespace
}  // namespace capstan::simulate

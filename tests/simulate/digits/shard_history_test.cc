// Tests each rule with a history that breaks it, and one that almost does.
#include "simulate/digits/shard_history.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace capstan::simulate {
namespace {

SlotSet Set(std::initializer_list<size_t> slots) {
  SlotSet set;
  for (const size_t slot : slots) set.Insert(slot);
  return set;
}

TEST(ShardHistoryTest, WhatWasAcknowledgedMustBeSeen) {
  ShardHistory history;
  history.OnInvoke(70);
  const SlotSet before = history.MustSee();
  history.OnAck(70);
  const SlotSet after = history.MustSee();
  // A read that started before the acknowledgement need not see the update.
  EXPECT_EQ(history.OnRead(before, Set({})), "");
  EXPECT_EQ(history.OnRead(after, Set({70})), "");
  EXPECT_NE(history.OnRead(after, Set({})), "");
}

TEST(ShardHistoryTest, WhatNobodyHasSentMustNotBeSeen) {
  ShardHistory history;
  EXPECT_NE(history.OnRead(history.MustSee(), Set({1})), "");
  history.OnInvoke(1);
  EXPECT_EQ(history.OnRead(history.MustSee(), Set({1})), "");
}

TEST(ShardHistoryTest, WhatWasSeenOnceIsSeenEverAfter) {
  ShardHistory history;
  history.OnInvoke(1);
  const SlotSet early = history.MustSee();
  EXPECT_EQ(history.OnRead(history.MustSee(), Set({1})), "");
  const SlotSet late = history.MustSee();
  // A read that started earlier may return an earlier state.
  EXPECT_EQ(history.OnRead(early, Set({})), "");
  EXPECT_NE(history.OnRead(late, Set({})), "");
}

TEST(ShardHistoryTest, ReadersAgreeOnAnOrder) {
  ShardHistory history;
  for (const size_t slot : {1, 2, 3}) history.OnInvoke(slot);
  const SlotSet nothing = history.MustSee();
  EXPECT_EQ(history.OnRead(nothing, Set({1})), "");
  EXPECT_EQ(history.OnRead(nothing, Set({1, 2, 3})), "");
  EXPECT_EQ(history.OnRead(nothing, Set({1, 3})), "");
  EXPECT_NE(history.OnRead(nothing, Set({1, 2})), "") << "of the same size";
  EXPECT_NE(history.OnRead(nothing, Set({2})), "");
}

TEST(ShardHistoryTest, SmallerAndLargerReadsMustNest) {
  ShardHistory history;
  for (const size_t slot : {1, 2, 3}) history.OnInvoke(slot);
  const SlotSet nothing = history.MustSee();
  EXPECT_EQ(history.OnRead(nothing, Set({1})), "");
  EXPECT_NE(history.OnRead(nothing, Set({2, 3})), "");
}

TEST(ShardHistoryTest, AnUpdateIsNotSeenBeforeOneThatEndedBeforeItBegan) {
  ShardHistory history;
  history.OnInvoke(1);
  const SlotSet nothing = history.MustSee();
  history.OnAck(1);
  history.OnInvoke(2);
  EXPECT_NE(history.OnRead(nothing, Set({2})), "");
  EXPECT_EQ(history.OnRead(nothing, Set({1, 2})), "");
}

TEST(ShardHistoryTest, WhatATakeoverHasFencedOffIsNotSeenLater) {
  ShardHistory history;
  history.OnInvoke(1);
  history.OnInvoke(2);
  history.OnTakeover(Set({1}));
  EXPECT_EQ(history.OnRead(history.MustSee(), Set({1})), "");
  EXPECT_NE(history.OnRead(history.MustSee(), Set({1, 2})), "");
  history.OnInvoke(2);
  EXPECT_EQ(history.OnRead(history.MustSee(), Set({1, 2})), "");
}

}  // namespace
}  // namespace capstan::simulate

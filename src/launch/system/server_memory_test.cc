#include "launch/system/server_memory.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

TEST(ServerMemoryTest, ServersShareFourFifths) {
  MachineFacts facts;
  facts.memory_bytes = 1000;
  EXPECT_EQ(ServerMemory(facts, 1), 800u);
  EXPECT_EQ(ServerMemory(facts, 4), 200u);
}

TEST(ServerMemoryTest, WhatIsNotKnownIsNoLimit) {
  EXPECT_EQ(ServerMemory(MachineFacts(), 4), UINT64_MAX);
}

}  // namespace
}  // namespace capstan

#include "base/async/yield_cores.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <thread>

namespace capstan {
namespace {

int Niceness() { return getpriority(PRIO_PROCESS, 0); }

TEST(YieldCoresTest, IsForThisThreadAndThoseThatItStarts) {
  const int before = Niceness();
  std::thread([&] {
    YieldCores();
    EXPECT_GE(Niceness(), 19);
    std::thread([] { EXPECT_GE(Niceness(), 19); }).join();
  }).join();
  EXPECT_EQ(Niceness(), before);
}

}  // namespace
}  // namespace capstan

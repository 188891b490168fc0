#include "base/async/cancellation.h"

#include <gtest/gtest.h>

#include <optional>

namespace capstan {
namespace {

TEST(CancellationTest, CallsEveryListenerOnce) {
  Cancellation cancellation;
  int first = 0;
  int second = 0;
  Cancellation::Registration a(&cancellation, [&] { ++first; });
  Cancellation::Registration b(&cancellation, [&] { ++second; });
  EXPECT_FALSE(cancellation.cancelled());
  cancellation.Cancel();
  cancellation.Cancel();
  EXPECT_TRUE(cancellation.cancelled());
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 1);
}

TEST(CancellationTest, RemovedListenersAreNotCalled) {
  Cancellation cancellation;
  int calls = 0;
  {
    Cancellation::Registration gone(&cancellation, [&] { ++calls; });
  }
  cancellation.Cancel();
  EXPECT_EQ(calls, 0);
}

TEST(CancellationTest, AListenerMayRemoveAnother) {
  Cancellation cancellation;
  int calls = 0;
  std::optional<Cancellation::Registration> other;
  Cancellation::Registration first(&cancellation, [&] { other.reset(); });
  other.emplace(&cancellation, [&] { ++calls; });
  cancellation.Cancel();
  EXPECT_LE(calls, 1);
}

TEST(CancellationTest, NullIsNoCancellation) {
  Cancellation::Registration none(nullptr, [] { FAIL(); });
}

}  // namespace
}  // namespace capstan

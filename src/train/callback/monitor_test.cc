#include "train/callback/monitor.h"

#include <gtest/gtest.h>

#include <limits>

#include "capstan/error.h"

namespace capstan {
namespace {

TEST(MonitorTest, GuessesWhatIsBetterByTheName) {
  for (const char* more : {"accuracy", "val_acc", "auc", "val_recall"}) {
    EXPECT_EQ(ResolveMode(MonitorMode::kAuto, more), MonitorMode::kMax) << more;
  }
  EXPECT_EQ(ResolveMode(MonitorMode::kAuto, "val_loss"), MonitorMode::kMin);
  EXPECT_EQ(ResolveMode(MonitorMode::kMin, "accuracy"), MonitorMode::kMin);
}

TEST(MonitorTest, IsBetterByMoreThanTheDelta) {
  EXPECT_TRUE(IsBetter(MonitorMode::kMin, 0.8, 1.0, 0.1));
  EXPECT_FALSE(IsBetter(MonitorMode::kMin, 0.95, 1.0, 0.1));
  EXPECT_TRUE(IsBetter(MonitorMode::kMax, 1.2, 1.0, 0.1));
  EXPECT_FALSE(IsBetter(MonitorMode::kMax, 1.05, 1.0, 0.1));
}

TEST(MonitorTest, WhatIsNoNumberIsWorseThanAny) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const MonitorMode mode : {MonitorMode::kMin, MonitorMode::kMax}) {
    EXPECT_FALSE(IsBetter(mode, nan, 1.0, 0));
    EXPECT_FALSE(IsBetter(mode, nan, nan, 0));
    EXPECT_FALSE(IsBetter(mode, nan, std::nullopt, 0));
    EXPECT_TRUE(IsBetter(mode, 1.0, nan, 0.1));
    EXPECT_TRUE(IsBetter(mode, 1.0, std::nullopt, 0.1));
  }
}

TEST(MonitorTest, WhatIsNotMeasuredIsSaidOnce) {
  const LambdaCallback callback({});
  bool found = false;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(FindMonitored(callback, {{"loss", 1}}, "x", found), std::nullopt);
  EXPECT_EQ(FindMonitored(callback, {{"loss", 1}}, "x", found), std::nullopt);
  EXPECT_EQ(FindMonitored(callback, {{"x", 2}}, "x", found), 2);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "warning: LambdaCallback: it watches 'x', which is not measured; "
            "there is loss; it does nothing until it is\n");
  // No warning either if the value is present at first.
  found = false;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(FindMonitored(callback, {{"x", 2}}, "x", found), 2);
  EXPECT_EQ(FindMonitored(callback, {}, "x", found), std::nullopt);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace capstan

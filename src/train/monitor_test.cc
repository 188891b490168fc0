#include "train/monitor.h"

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
  EXPECT_FALSE(IsBetter(MonitorMode::kMin,
                        std::numeric_limits<double>::quiet_NaN(), 1.0, 0));
}

}  // namespace
}  // namespace capstan

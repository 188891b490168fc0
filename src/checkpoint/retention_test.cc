#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/checkpoint_name.h"
#include "checkpoint/directory.h"
#include "rapidcheck/gtest.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kHour = 3'600'000;

// One per hour, from ckpt-1.
std::vector<Checkpoint> Hourly(uint64_t count) {
  std::vector<Checkpoint> checkpoints;
  for (uint64_t i = 1; i <= count; ++i) {
    Checkpoint checkpoint{
        .name = CheckpointName(i), .number = i, .manifest = {}};
    checkpoint.manifest.created_unix_ms = static_cast<int64_t>(i) * kHour;
    checkpoints.push_back(checkpoint);
  }
  return checkpoints;
}

TEST(RetentionTest, KeepsTheNewest) {
  EXPECT_THAT(ToRemove(Hourly(5), {.max_to_keep = 3}, {}),
              ElementsAre("ckpt-1", "ckpt-2"));
  EXPECT_THAT(ToRemove(Hourly(3), {.max_to_keep = 3}, {}), IsEmpty());
  EXPECT_THAT(ToRemove({}, {.max_to_keep = 3}, {}), IsEmpty());
}

TEST(RetentionTest, ZeroKeepsAll) {
  EXPECT_THAT(ToRemove(Hourly(9), {.max_to_keep = 0}, {}), IsEmpty());
  EXPECT_THAT(ToRemove(Hourly(9), {.max_to_keep = -1}, {}), IsEmpty());
}

TEST(RetentionTest, OrderIsByNumber) {
  std::vector<Checkpoint> checkpoints = Hourly(11);
  std::swap(checkpoints[0], checkpoints[10]);
  EXPECT_THAT(ToRemove(checkpoints, {.max_to_keep = 8}, {}),
              ElementsAre("ckpt-1", "ckpt-2", "ckpt-3"));
}

TEST(RetentionTest, KeepsThoseThatAreNamed) {
  EXPECT_THAT(ToRemove(Hourly(5), {.max_to_keep = 2}, {"ckpt-2", "ckpt-5"}),
              ElementsAre("ckpt-1", "ckpt-3"));
}

TEST(RetentionTest, KeepsOneForEachHours) {
  EXPECT_THAT(
      ToRemove(Hourly(9), {.max_to_keep = 2, .keep_every_hours = 3}, {}),
      ElementsAre("ckpt-2", "ckpt-3", "ckpt-5", "ckpt-6"));
}

// However often it is called, the checkpoints kept for their hours stay.
RC_GTEST_PROP(RetentionTest, CalledAfterEachSaveOrOnce,
              (const std::vector<uint8_t>& gaps)) {
  const Retention retention{.max_to_keep = *rc::gen::inRange(1, 5),
                            .keep_every_hours = *rc::gen::inRange(0, 5) * 1.0};
  std::vector<Checkpoint> all;
  std::vector<Checkpoint> left;
  int64_t now = 0;
  for (const uint8_t gap : gaps) {
    now += gap * kHour / 50;
    Checkpoint next{.name = CheckpointName(all.size() + 1),
                    .number = all.size() + 1,
                    .manifest = {}};
    next.manifest.created_unix_ms = now;
    all.push_back(next);
    left.push_back(next);
    for (const std::string& name : ToRemove(left, retention, {})) {
      std::erase_if(left, [&](const Checkpoint& c) { return c.name == name; });
    }
  }
  std::vector<std::string> names;
  for (const std::string& name : ToRemove(all, retention, {})) {
    std::erase_if(all, [&](const Checkpoint& c) { return c.name == name; });
  }
  RC_ASSERT(all.size() == left.size());
  for (size_t i = 0; i < all.size(); ++i) {
    RC_ASSERT(all[i].name == left[i].name);
  }
}

}  // namespace
}  // namespace capstan

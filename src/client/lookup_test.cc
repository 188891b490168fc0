#include "client/lookup.h"

#include <gtest/gtest.h>

#include <vector>

#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::StatusIs;

using Values = std::vector<int64_t>;

TEST(SplitsOfTest, FromSegments) {
  EXPECT_THAT(SplitsOf({}, 0), IsOkAndHolds(Values{0}));
  EXPECT_THAT(SplitsOf({}, 2), IsOkAndHolds(Values{0, 0, 0}));
  EXPECT_THAT(SplitsOf(Values{0, 0, 2}, 4),
              IsOkAndHolds(Values{0, 2, 2, 3, 3}));
  EXPECT_THAT(SplitsOf(Values{1}, 2), IsOkAndHolds(Values{0, 0, 1}));
}

TEST(SplitsOfTest, SegmentsThatMakeNoSense) {
  for (const Values& bad : {Values{-1}, Values{3}, Values{1, 0}}) {
    EXPECT_THAT(SplitsOf(bad, 3), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("segment")));
  }
  EXPECT_THAT(SplitsOf({}, -1), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace capstan

#include "dataset/range/range_position.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <string>
#include <string_view>

#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::StatusIs;

const char kText[] =
    "capstan-ranges 1 examples=1000 batch=32 seed=7 shuffle=1 drop=0 epoch=3 "
    "next=17 open=3:12,3:15";

// kText with the first `from` replaced.
std::string With(std::string_view from, std::string_view to) {
  std::string text = kText;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

auto Refused(const std::string& why) {
  return StatusIs(absl::StatusCode::kInvalidArgument,
                  "not a position of DataRanges: " + why);
}

TEST(RangePositionTest, ReadsWhatItWrites) {
  const RangePosition position = ParsePosition(kText).value();
  EXPECT_EQ(position.options.examples, 1000);
  EXPECT_EQ(position.options.batch, 32);
  EXPECT_EQ(position.options.seed, 7u);
  EXPECT_TRUE(position.options.shuffle);
  EXPECT_FALSE(position.options.drop_remainder);
  EXPECT_EQ(position.epoch, 3u);
  EXPECT_EQ(position.next, 17u);
  EXPECT_THAT(position.open, ElementsAre(RangeId{3, 12}, RangeId{3, 15}));
  EXPECT_EQ(FormatPosition(position), kText);
}

TEST(RangePositionTest, TheStartIsOneToo) {
  const std::string text = FormatPosition({});
  EXPECT_EQ(text,
            "capstan-ranges 1 examples=0 batch=1 seed=0 shuffle=0 drop=0 "
            "epoch=0 next=0 open=");
  EXPECT_THAT(ParsePosition(text).value().open, IsEmpty());
}

TEST(RangePositionTest, TheLargestNumbersFit) {
  RangePosition position;
  position.options = {INT64_MAX, 1, true, UINT64_MAX, true};
  position.epoch = INT64_MAX;
  position.next = INT64_MAX;
  position.open = {{INT64_MAX, INT64_MAX - 1}};
  const std::string text = FormatPosition(position);
  EXPECT_EQ(FormatPosition(ParsePosition(text).value()), text);
}

TEST(RangePositionTest, OtherTextsAreRefused) {
  EXPECT_THAT(ParsePosition(""),
              Refused("\"\" does not begin with \"capstan-ranges\""));
  EXPECT_THAT(ParsePosition("\x1b[31m" + std::string(100, 'x')),
              Refused("\"\\x1b[31m" + std::string(35, 'x') +
                      "...\" does not begin with \"capstan-ranges\""));
  EXPECT_THAT(ParsePosition("capstan-ranges"),
              Refused("it has 1 words; there should be 10"));
  EXPECT_THAT(ParsePosition(std::string(kText) + " more=1"),
              Refused("it has 11 words; there should be 10"));
  EXPECT_THAT(ParsePosition(With(" 1 ", " 2 ")),
              Refused("it is of version \"2\"; this program reads version 1"));
}

TEST(RangePositionTest, EveryCutTextIsRefused) {
  const std::string_view text = kText;
  // A truncated last number is still a number.
  const size_t end = text.find("open=") + 1;
  for (size_t size = 0; size < end; ++size) {
    EXPECT_THAT(ParsePosition(text.substr(0, size)),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
}

TEST(RangePositionTest, FieldsAreRefusedByName) {
  EXPECT_THAT(ParsePosition(With("batch=32", "butch=32")),
              Refused("\"butch=32\" where batch= should be"));
  EXPECT_THAT(ParsePosition(With("batch=32", "batch")),
              Refused("\"batch\" where batch= should be"));
  EXPECT_THAT(ParsePosition(With("batch=32", "seed=7")),
              Refused("\"seed=7\" where batch= should be"));
  for (const char* number :
       {"", "x", "3x", "+3", "0x3", "3.0", "18446744073709551616", "\t3"}) {
    EXPECT_THAT(ParsePosition(With("seed=7", std::string("seed=") + number)),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("where seed=a number should be")));
  }
  EXPECT_THAT(ParsePosition(With("=1000", "=9223372036854775808")),
              Refused("\"9223372036854775808\" where examples=a number should "
                      "be"));
  EXPECT_THAT(ParsePosition(With("next=17", "next=-1")),
              Refused("\"-1\" where next=a number should be"));
  EXPECT_THAT(ParsePosition(With("shuffle=1", "shuffle=2")),
              Refused("\"2\" where shuffle=0 or 1 should be"));
  EXPECT_THAT(ParsePosition(With("drop=0", "drop=")),
              Refused("\"\" where drop=0 or 1 should be"));
}

TEST(RangePositionTest, ListsAreRefusedByTheirPart) {
  for (const char* part : {"3", "3:", ":12", "3:12:", "3:1x", "-3:12",
                           "3:18446744073709551616", ""}) {
    EXPECT_THAT(ParsePosition(With("3:15", part)),
                Refused("\"" + std::string(part) +
                        "\" where open=a list such as 3:12,3:15 should be"));
  }
  EXPECT_THAT(ParsePosition(std::string(kText) + "\n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("\"3:15\\n\" where open=")));
}

TEST(RangePositionTest, NumbersThatCannotBeAreRefused) {
  EXPECT_THAT(ParsePosition(With("examples=1000", "examples=-1")),
              Refused("DataRanges: examples is -1; it must be at least 0"));
  EXPECT_THAT(ParsePosition(With("batch=32", "batch=0")),
              Refused("DataRanges: batch is 0; it must be at least 1"));
  EXPECT_THAT(ParsePosition(With("epoch=3", "epoch=9223372036854775808")),
              Refused("epoch is 9223372036854775808; the most is "
                      "9223372036854775807"));
  EXPECT_OK(ParsePosition(With("next=17", "next=32")));
  EXPECT_THAT(ParsePosition(With("next=17", "next=33")),
              Refused("next is 33, but an epoch has 32 ranges"));
}

TEST(RangePositionTest, OpenRangesAreOfThePast) {
  EXPECT_OK(ParsePosition(With("3:12,3:15", "0:31,2:31,3:16")));
  EXPECT_THAT(ParsePosition(With("3:12", "2:32")),
              Refused("open has 2:32, but an epoch has 32 ranges"));
  EXPECT_THAT(ParsePosition(With("3:15", "3:17")),
              Refused("open has 3:17, which comes after epoch 3, next 17"));
  EXPECT_THAT(ParsePosition(With("3:15", "4:0")),
              Refused("open has 4:0, which comes after epoch 3, next 17"));
}

TEST(RangePositionTest, OpenRangesComeOnceAndInOrder) {
  EXPECT_THAT(ParsePosition(With("3:15", "3:12")),
              Refused("open has 3:12 after 3:12; each comes once, and in "
                      "order"));
  EXPECT_THAT(ParsePosition(With("3:15", "2:15")),
              Refused("open has 2:15 after 3:12; each comes once, and in "
                      "order"));
}

RC_GTEST_PROP(RangePositionProperty, ReadsWhatItWrites, ()) {
  RangePosition position;
  position.options.examples = *rc::gen::inRange<int64_t>(1, 1000);
  position.options.batch = *rc::gen::inRange<int64_t>(1, 20);
  position.options.seed = *rc::gen::arbitrary<uint64_t>();
  position.options.shuffle = *rc::gen::arbitrary<bool>();
  const uint64_t ranges = RangesPerEpoch(position.options);
  position.epoch = *rc::gen::inRange<uint64_t>(1, 9);
  position.next = *rc::gen::inRange<uint64_t>(0, ranges + 1);
  const auto open = *rc::gen::container<std::set<uint64_t>>(
      rc::gen::inRange<uint64_t>(0, position.epoch * ranges + position.next));
  for (const uint64_t step : open) {
    position.open.push_back({step / ranges, step % ranges});
  }
  const std::string text = FormatPosition(position);
  RC_ASSERT(FormatPosition(ParsePosition(text).value()) == text);
}

// For any changed byte, the text is refused or means something else.
RC_GTEST_PROP(RangePositionProperty, NoByteIsIgnored, ()) {
  std::string text = kText;
  const auto at = *rc::gen::inRange<size_t>(0, text.size());
  text[at] = *rc::gen::distinctFrom(text[at]);
  const auto position = ParsePosition(text);
  if (position.ok()) RC_ASSERT(FormatPosition(*position) != kText);
}

}  // namespace
}  // namespace capstan

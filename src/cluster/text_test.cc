#include "cluster/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <climits>
#include <string>
#include <vector>

namespace capstan {
namespace {

constexpr std::array<std::string_view, 4> kWords = {"chief", "worker", "ps",
                                                    "evaluator"};

TEST(QuotedTest, KeepsOrdinaryText) {
  EXPECT_EQ(Quoted(""), "\"\"");
  EXPECT_EQ(Quoted("host:1"), "\"host:1\"");
}

TEST(QuotedTest, EscapesWhatWouldForgeALine) {
  EXPECT_EQ(Quoted("a\nb\tc\x1b\x7f"), "\"a\\nb\\tc\\x1b\\x7f\"");
}

TEST(QuotedTest, CutsLongText) {
  EXPECT_EQ(Quoted(std::string(80, 'x')), "\"" + std::string(80, 'x') + "\"");
  EXPECT_EQ(Quoted(std::string(81, 'x')),
            "\"" + std::string(80, 'x') + "...\"");
}

TEST(ParseWholeTest, TakesDigitsInRange) {
  EXPECT_EQ(ParseWhole("0", 0, 9), 0);
  EXPECT_EQ(ParseWhole("007", 0, 9), 7);
  EXPECT_EQ(ParseWhole("2147483647", 0, INT_MAX), INT_MAX);
}

TEST(ParseWholeTest, RefusesEverythingElse) {
  for (std::string_view text : {"", "-1", "+1", " 1", "1 ", "1.0", "0x1", "a",
                                "10", "99999999999999999999", "-0"}) {
    EXPECT_EQ(ParseWhole(text, 0, 9), std::nullopt) << text;
  }
}

RC_GTEST_PROP(ParseWholeProperty, ReadsBackWhatIsWritten, (int number)) {
  const std::optional<int> read =
      ParseWhole(std::to_string(number), 0, INT_MAX);
  RC_ASSERT(read == (number < 0 ? std::nullopt : std::optional(number)));
}

TEST(DidYouMeanTest, SuggestsTheNearest) {
  EXPECT_EQ(DidYouMean("workers", kWords), "; did you mean \"worker\"?");
  EXPECT_EQ(DidYouMean("wroker", kWords), "; did you mean \"worker\"?");
  EXPECT_EQ(DidYouMean("evalutor", kWords), "; did you mean \"evaluator\"?");
  EXPECT_EQ(DidYouMean("pss", kWords), "; did you mean \"ps\"?");
  EXPECT_EQ(DidYouMean("Chief", kWords), "; did you mean \"chief\"?");
}

TEST(DidYouMeanTest, IsSilentWhenNothingIsNear) {
  for (std::string_view word : {"", "boss", "x", "xy", "executor"}) {
    EXPECT_EQ(DidYouMean(word, kWords), "") << word;
  }
  EXPECT_EQ(DidYouMean(std::string(1'000'000, 'w'), kWords), "");
}

TEST(CountedTest, AddsTheS) {
  EXPECT_EQ(Counted(0, "worker"), "0 workers");
  EXPECT_EQ(Counted(1, "worker"), "1 worker");
  EXPECT_EQ(Counted(2, "worker"), "2 workers");
  EXPECT_EQ(Counted(3, "ps"), "3 ps");
}

TEST(JoinedTest, SeparatesByCommas) {
  EXPECT_EQ(Joined({}), "");
  EXPECT_EQ(Joined(kWords), "chief, worker, ps, evaluator");
}

}  // namespace
}  // namespace capstan

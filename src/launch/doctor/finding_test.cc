#include "launch/doctor/finding.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

TEST(FindingTest, LineHasLevelFindingAndRemedy) {
  EXPECT_EQ(ToLine({FindingLevel::kOk, "all is well", ""}),
            "ok       all is well");
  EXPECT_EQ(ToLine({FindingLevel::kWarning, "hm", "look"}),
            "warning  hm; look");
  EXPECT_EQ(ToLine({FindingLevel::kProblem, "no", "mend it"}),
            "PROBLEM  no; mend it");
}

TEST(FindingTest, Json) {
  EXPECT_EQ(
      ToJson({{FindingLevel::kWarning, "h\"m\xff", "look"},
              {FindingLevel::kProblem, "no", ""}}),
      R"({"findings":[{"level":"warning","what":"h\"m)"
      "\xef\xbf\xbd"
      R"(","remedy":"look"},{"level":"problem","what":"no","remedy":""}],)"
      R"("problems":1,"warnings":1})");
  EXPECT_EQ(ToJson({}), R"({"findings":[],"problems":0,"warnings":0})");
}

TEST(FindingTest, CountsByLevel) {
  Findings findings = {{FindingLevel::kOk, "a", ""}};
  Append({{FindingLevel::kProblem, "b", ""}, {FindingLevel::kProblem, "c", ""}},
         findings);
  EXPECT_EQ(Count(findings, FindingLevel::kOk), 1);
  EXPECT_EQ(Count(findings, FindingLevel::kWarning), 0);
  EXPECT_EQ(Count(findings, FindingLevel::kProblem), 2);
}

}  // namespace
}  // namespace capstan

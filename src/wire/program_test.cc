#include "wire/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

std::vector<std::string> Definitions() {
  FunctionInfo step{.name = "step", .signature = "double(int)"};
  FunctionInfo look{.name = "look", .signature = "int()"};
  look.options.reads_only = true;
  return DescribeDefinitions({step, look},
                             {{.name = "images", .type = "Dataset"}});
}

TEST(ProgramTest, DefinitionsAreDescribedInOrder) {
  EXPECT_THAT(Definitions(), ElementsAre("function 'look' int() (reads_only)",
                                         "function 'step' double(int)",
                                         "resource 'images' Dataset"));
}

TEST(ProgramTest, FingerprintsTellProgramsApart) {
  const std::vector<std::string> all = Definitions();
  EXPECT_EQ(ProgramFingerprint(all), ProgramFingerprint(Definitions()));
  EXPECT_NE(ProgramFingerprint({}), 0u);
  std::vector<std::string> fewer = all;
  fewer.pop_back();
  EXPECT_NE(ProgramFingerprint(all), ProgramFingerprint(fewer));
  // However the lines are divided.
  EXPECT_NE(ProgramFingerprint({"ab", "c"}), ProgramFingerprint({"a", "bc"}));
}

TEST(ProgramTest, SameProgramIsOk) {
  EXPECT_OK(CheckSameProgram("worker/2", Definitions(), Definitions()));
  EXPECT_OK(CheckSameProgram("worker/2", {}, {}));
}

TEST(ProgramTest, DifferencesAreNamed) {
  const std::vector<std::string> other =
      DescribeDefinitions({{.name = "step", .signature = "float(int)"}},
                          {{.name = "images", .type = "Dataset"}});
  EXPECT_THAT(
      CheckSameProgram("worker/2", Definitions(), other),
      StatusIs(
          absl::StatusCode::kFailedPrecondition,
          "worker/2 runs a different program from the job's: it does not "
          "define function 'look' int() (reads_only), function 'step' "
          "double(int); it defines function 'step' float(int), unknown to the "
          "job; start it with the job's program"));
}

TEST(ProgramTest, ManyDifferencesAreCounted) {
  EXPECT_THAT(CheckSameProgram("worker/2", {}, {"a", "b", "c", "d", "e"}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("it defines a, b, c and 2 more, unknown")));
}

}  // namespace
}  // namespace capstan

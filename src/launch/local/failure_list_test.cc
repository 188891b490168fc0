#include "launch/local/failure_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace capstan {
namespace {

using ::testing::ElementsAre;

constexpr TaskId kServer{Role::kPs, 0};

TaskFailure Failure(TaskId task, const std::string& how,
                    std::vector<std::string> lines = {}) {
  const std::string name = task.ToString();
  return {task, name + " " + how, name + ".log", std::move(lines)};
}

// All lines, with the details indented.
std::vector<std::string> Lines(const FailureList& failures) {
  std::vector<std::string> lines;
  for (const FailureText& text : failures.Report()) {
    lines.push_back(text.headline);
    for (const std::string& line : text.details) lines.push_back("  " + line);
  }
  return lines;
}

TEST(FailureListTest, NothingToSay) {
  EXPECT_THAT(Lines(FailureList()), ElementsAre());
  EXPECT_EQ(FailureList().first(), "");
}

TEST(FailureListTest, TheChiefHasTheLastWord) {
  FailureList failures;
  failures.Add(Failure(kServer, "died", {"hello"}));
  failures.Add(Failure({Role::kChief, 0}, "failed", {"lost ps/0", "bye"}));
  failures.Add(Failure({Role::kWorker, 3}, "gave up", {"no chief"}));
  EXPECT_THAT(
      Lines(failures),
      ElementsAre("first failure: ps/0 died; the end of ps/0.log:", "  hello",
                  "then worker/3 gave up; its log is worker/3.log",
                  "then chief/0 failed; the end of chief/0.log:", "  lost ps/0",
                  "  bye"));
}

TEST(FailureListTest, AnEmptyLogIsNotShown) {
  FailureList failures;
  failures.Add(Failure(kServer, "died"));
  failures.Add(Failure({Role::kChief, 0}, "failed", {"", "  \t", "\r"}));
  EXPECT_THAT(Lines(failures),
              ElementsAre("first failure: ps/0 died; it wrote nothing",
                          "then chief/0 failed; it wrote nothing"));
}

TEST(FailureListTest, WhoHasRecoveredIsNotTheCause) {
  FailureList failures;
  failures.Add(Failure({Role::kWorker, 0}, "died"));
  failures.Add(Failure(kServer, "died"));
  failures.Remove({Role::kWorker, 0});
  failures.Remove({Role::kWorker, 1});
  EXPECT_THAT(Lines(failures),
              ElementsAre("first failure: ps/0 died; it wrote nothing"));
}

TEST(FailureListTest, WhoFailsAgainKeepsItsPlace) {
  FailureList failures;
  failures.Add(Failure(kServer, "died"));
  failures.Add(Failure({Role::kWorker, 0}, "died"));
  failures.Add(Failure(kServer, "died after 3 restarts"));
  EXPECT_THAT(
      Lines(failures),
      ElementsAre("first failure: ps/0 died after 3 restarts; it wrote nothing",
                  "then worker/0 died; its log is worker/0.log"));
}

TEST(FailureListTest, OfManyOnlySomeAreNamed) {
  FailureList failures;
  for (int i = 0; i < 6; ++i) failures.Add(Failure({Role::kWorker, i}, "died"));
  EXPECT_EQ(Lines(failures).size(), 6u);
  EXPECT_EQ(Lines(failures).back(), "then 1 more task failed");
  for (int i = 6; i < 99; ++i) {
    failures.Add(Failure({Role::kWorker, i}, "died"));
  }
  EXPECT_EQ(Lines(failures).size(), 6u);
  EXPECT_EQ(Lines(failures).back(), "then 94 more tasks failed");
}

}  // namespace
}  // namespace capstan

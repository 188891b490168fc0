#include "launch/doctor/check_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kMiB = 1 << 20;

MachineFacts GoodMachine() {
  MachineFacts facts;
  facts.open_files = 4096;
  facts.open_files_hard = 1 << 20;
  facts.threads = MachineFacts::kUnlimited;
  facts.memory_bytes = 8192 * kMiB;
  facts.somaxconn = 4096;
  facts.folder = "here";
  facts.disk_bytes = 2048 * kMiB;
  facts.folder_is_writable = true;
  return facts;
}

// The finding that contains `text`, on a machine for `tasks` tasks.
Finding Find(const MachineFacts& facts, const std::string& text,
             int tasks = 0) {
  for (const Finding& finding : CheckLimits(facts, tasks)) {
    if (finding.what.find(text) != std::string::npos) return finding;
  }
  return {FindingLevel::kOk, "nothing about " + text, ""};
}

TEST(CheckLimitsTest, GoodMachineIsWell) {
  const Findings findings = CheckLimits(GoodMachine(), 100);
  EXPECT_EQ(findings.size(), 5u);
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.level, FindingLevel::kOk) << ToLine(finding);
    EXPECT_EQ(finding.remedy, "");
  }
  EXPECT_THAT(Find(GoodMachine(), "threads").what, HasSubstr("unlimited"));
  EXPECT_THAT(Find(GoodMachine(), "memory").what, HasSubstr("8.0 GiB"));
}

TEST(CheckLimitsTest, WhatIsNotKnownIsLeftOut) {
  MachineFacts facts;
  facts.folder_is_writable = true;
  EXPECT_THAT(CheckLimits(facts, 1), IsEmpty());
}

TEST(CheckLimitsTest, FewOpenFilesAreAWarningOrTooFew) {
  MachineFacts facts = GoodMachine();
  facts.open_files = 256;
  facts.open_files_hard = 1024;
  const Finding warning = Find(facts, "open files", 110);
  EXPECT_EQ(warning.level, FindingLevel::kWarning);
  EXPECT_THAT(warning.what, HasSubstr("a task may have 1024"));
  EXPECT_THAT(warning.remedy, HasSubstr("administrator to allow 4096"));
  EXPECT_EQ(Find(facts, "open files", 300).level, FindingLevel::kProblem);
  EXPECT_THAT(Find(facts, "open files", 2000).remedy, HasSubstr("8128"));
  // A task raises its limit itself.
  facts.open_files_hard = 8128;
  EXPECT_EQ(Find(facts, "open files", 2000).level, FindingLevel::kOk);
}

TEST(CheckLimitsTest, OtherLimits) {
  MachineFacts facts = GoodMachine();
  facts.threads = 100;
  EXPECT_EQ(Find(facts, "threads").level, FindingLevel::kWarning);
  facts.somaxconn = 128;
  EXPECT_EQ(Find(facts, "wait to be accepted").level, FindingLevel::kWarning);
  facts.memory_bytes = 400 * kMiB;
  EXPECT_EQ(Find(facts, "memory").level, FindingLevel::kWarning);
  facts.memory_bytes = 10 * kMiB;
  EXPECT_EQ(Find(facts, "memory: 10 MiB").level, FindingLevel::kProblem);
}

TEST(CheckLimitsTest, FolderMustHaveRoomAndBeWritable) {
  MachineFacts facts = GoodMachine();
  facts.disk_bytes = 500 * kMiB;
  EXPECT_EQ(Find(facts, "'here'").level, FindingLevel::kWarning);
  facts.disk_bytes = kMiB;
  EXPECT_EQ(Find(facts, "'here'").level, FindingLevel::kProblem);
  facts = GoodMachine();
  facts.folder_is_writable = false;
  const Finding finding = Find(facts, "'here'");
  EXPECT_EQ(finding.level, FindingLevel::kProblem);
  EXPECT_NE(finding.remedy, "");
}

}  // namespace
}  // namespace capstan

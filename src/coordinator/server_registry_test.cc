#include "coordinator/server_registry.h"

#include <gtest/gtest.h>

#include <set>

#include "testing/status_matchers.h"

namespace capstan {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;
using testing::StatusIs;

TaskEntry Entry(const std::string& task, TaskState state,
                uint64_t incarnation) {
  TaskEntry entry;
  entry.task = task;
  entry.address = "here";
  entry.state = state;
  entry.report.incarnation = incarnation;
  return entry;
}

TaskEntry Silent(const std::string& task, seconds silence,
                 uint64_t incarnation = 6) {
  TaskEntry entry = Entry(task, TaskState::kSilent, incarnation);
  entry.since_ms = static_cast<uint64_t>(milliseconds(silence).count());
  return entry;
}

class ServerRegistryTest : public ::testing::Test {
 protected:
  ServerRegistryTest() {
    registry_.OnTask(Entry("ps/0", TaskState::kHealthy, 5), false);
    registry_.OnTask(Entry("ps/1", TaskState::kHealthy, 6), false);
  }

  std::set<uint32_t> left_out_;
  ServerRegistry registry_{
      [this](uint32_t i) { return !left_out_.contains(i); }, seconds(60)};
};

TEST_F(ServerRegistryTest, AllIsWellAtFirst) {
  EXPECT_OK(registry_.Lost());
  EXPECT_THAT(registry_.Awaited(), IsEmpty());
  EXPECT_THAT(registry_.Absent(), IsEmpty());
  EXPECT_EQ(registry_.size(), 2u);
}

TEST_F(ServerRegistryTest, OneThatIsSilentIsWaitedFor) {
  EXPECT_TRUE(registry_.OnTask(Silent("ps/1", seconds(5)), true));
  EXPECT_OK(registry_.Lost());
  EXPECT_TRUE(registry_.IsAway("ps/1"));
  EXPECT_THAT(registry_.Awaited(), ElementsAre("ps/1"));
  EXPECT_THAT(registry_.Absent(), ElementsAre(1));
  EXPECT_EQ(registry_.LeastSilence(), seconds(5));
  EXPECT_THAT(registry_.AllSilent(),
              ElementsAre("ps/1 (here) has not answered for 5 s; waiting "
                          "another 55 s for it"));
  EXPECT_FALSE(registry_.OnTask(Entry("ps/1", TaskState::kHealthy, 6), true));
  EXPECT_OK(registry_.Lost());
  EXPECT_FALSE(registry_.IsAway("ps/1"));
  EXPECT_THAT(registry_.AllSilent(), IsEmpty());
}

TEST_F(ServerRegistryTest, OneThatIsSilentForTooLongIsLost) {
  registry_.OnTask(Silent("ps/1", seconds(59)), true);
  EXPECT_OK(registry_.Lost());
  registry_.OnTask(Silent("ps/1", seconds(60)), true);
  EXPECT_THAT(registry_.Lost(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("ps/1 at here is lost after 60 s without an "
                                 "answer, and with it the variables")));
  EXPECT_THAT(registry_.AllSilent(), IsEmpty());
  // It was there all the time.
  registry_.OnTask(Entry("ps/1", TaskState::kHealthy, 6), true);
  EXPECT_OK(registry_.Lost());
}

TEST_F(ServerRegistryTest,
       OneThatHasLostItsVariablesAndIsSilentHasStillLostThem) {
  registry_.OnTask(Entry("ps/1", TaskState::kRestarted, 7), true);
  registry_.OnTask(Silent("ps/1", seconds(5), 7), true);
  EXPECT_THAT(registry_.Lost(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(registry_.AllSilent(), IsEmpty());
}

TEST_F(ServerRegistryTest, OneThatIsLeftOutIsNotWaitedFor) {
  left_out_ = {1};
  registry_.OnTask(Silent("ps/1", seconds(5)), true);
  EXPECT_THAT(registry_.AllSilent(), IsEmpty());
  EXPECT_EQ(registry_.Reminder("ps/1", seconds(5)), std::nullopt);
}

TEST_F(ServerRegistryTest, ReminderComesAtFirstAndThenNowAndThen) {
  std::vector<int> said;
  for (int at = 1; at <= 11; ++at) {
    registry_.OnTask(Silent("ps/1", seconds(at)), true);
    if (registry_.Reminder("ps/1", seconds(5))) said.push_back(at);
  }
  EXPECT_THAT(said, ElementsAre(1, 5, 10));
  registry_.OnTask(Entry("ps/1", TaskState::kHealthy, 6), true);
  EXPECT_EQ(registry_.Reminder("ps/1", seconds(5)), std::nullopt);
  registry_.OnTask(Silent("ps/1", seconds(2)), true);
  EXPECT_THAT(registry_.Reminder("ps/1", seconds(5)),
              Optional(HasSubstr("has not answered for 2 s")));
}

TEST_F(ServerRegistryTest, OneThatIsCutOffAndReturnsHasLostNothing) {
  EXPECT_TRUE(
      registry_.OnTask(Entry("ps/1", TaskState::kUnreachable, 6), true));
  EXPECT_THAT(registry_.Lost(),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("ps/1 at here is lost"))));
  EXPECT_THAT(registry_.Awaited(), ElementsAre("ps/1"));
  EXPECT_THAT(registry_.Absent(), ElementsAre(1));
  EXPECT_FALSE(registry_.OnTask(Entry("ps/1", TaskState::kHealthy, 6), true));
  EXPECT_OK(registry_.Lost());
}

TEST_F(ServerRegistryTest, AnotherProcessHasLostThemUntilTheyAreMadeOnIt) {
  EXPECT_TRUE(registry_.OnTask(Entry("ps/1", TaskState::kRestarted, 7), true));
  EXPECT_THAT(registry_.Lost(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("ps/1 at here was restarted")));
  EXPECT_THAT(registry_.Awaited(), IsEmpty());
  registry_.HaveVariables(registry_.Now());
  EXPECT_OK(registry_.Lost());
}

TEST_F(ServerRegistryTest, OneThatIsRestartedWhileTheyAreMadeHasLostThem) {
  registry_.OnTask(Entry("ps/1", TaskState::kRestarted, 7), true);
  const ServerRegistry::Processes before = registry_.Now();
  registry_.OnTask(Entry("ps/1", TaskState::kRestarted, 8), true);
  registry_.HaveVariables(before);
  EXPECT_THAT(registry_.Lost(), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(ServerRegistryTest, WithoutVariablesNothingIsLost) {
  registry_.OnTask(Entry("ps/1", TaskState::kRestarted, 7), false);
  EXPECT_OK(registry_.Lost());
}

TEST_F(ServerRegistryTest, OneThatIsLeftOutIsNoLoss) {
  registry_.OnTask(Entry("ps/1", TaskState::kUnreachable, 6), true);
  left_out_ = {1};
  EXPECT_OK(registry_.Lost());
  EXPECT_THAT(registry_.Awaited(), IsEmpty());
  EXPECT_THAT(registry_.Absent(), ElementsAre(1));
  EXPECT_THAT(registry_.LeftOut(), ElementsAre("ps/1"));
  EXPECT_THAT(registry_.Returned(), IsEmpty());
  EXPECT_FALSE(registry_.Answers("ps/1"));
  registry_.OnTask(Entry("ps/1", TaskState::kRestarted, 9), true);
  EXPECT_OK(registry_.Lost());
  EXPECT_THAT(registry_.Returned(), ElementsAre("ps/1"));
  EXPECT_TRUE(registry_.Answers("ps/1"));
}

TEST_F(ServerRegistryTest, NumbersAscendWhateverTheNames) {
  for (const char* task : {"ps/10", "ps/2"}) {
    registry_.OnTask(Entry(task, TaskState::kMissing, 0), true);
  }
  EXPECT_THAT(registry_.Absent(), ElementsAre(2, 10));
}

}  // namespace
}  // namespace capstan

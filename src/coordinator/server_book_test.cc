#include "coordinator/server_book.h"

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

class ServerBookTest : public ::testing::Test {
 protected:
  ServerBookTest() {
    book_.OnTask(Entry("ps/0", TaskState::kHealthy, 5), false);
    book_.OnTask(Entry("ps/1", TaskState::kHealthy, 6), false);
  }

  std::set<uint32_t> left_out_;
  ServerBook book_{[this](uint32_t i) { return !left_out_.contains(i); },
                   seconds(60)};
};

TEST_F(ServerBookTest, AllIsWellAtFirst) {
  EXPECT_OK(book_.Lost());
  EXPECT_THAT(book_.Awaited(), IsEmpty());
  EXPECT_THAT(book_.Absent(), IsEmpty());
  EXPECT_EQ(book_.size(), 2u);
}

TEST_F(ServerBookTest, OneThatIsSilentIsWaitedFor) {
  EXPECT_TRUE(book_.OnTask(Silent("ps/1", seconds(5)), true));
  EXPECT_OK(book_.Lost());
  EXPECT_TRUE(book_.IsAway("ps/1"));
  EXPECT_THAT(book_.Awaited(), ElementsAre("ps/1"));
  EXPECT_THAT(book_.Absent(), ElementsAre(1));
  EXPECT_EQ(book_.LeastSilence(), seconds(5));
  EXPECT_THAT(book_.AllSilent(),
              ElementsAre("ps/1 (here) has not answered for 5 s; waiting "
                          "another 55 s for it"));
  EXPECT_FALSE(book_.OnTask(Entry("ps/1", TaskState::kHealthy, 6), true));
  EXPECT_OK(book_.Lost());
  EXPECT_FALSE(book_.IsAway("ps/1"));
  EXPECT_THAT(book_.AllSilent(), IsEmpty());
}

TEST_F(ServerBookTest, OneThatIsSilentForTooLongIsLost) {
  book_.OnTask(Silent("ps/1", seconds(59)), true);
  EXPECT_OK(book_.Lost());
  book_.OnTask(Silent("ps/1", seconds(60)), true);
  EXPECT_THAT(book_.Lost(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("ps/1 at here is lost after 60 s without an "
                                 "answer, and with it the variables")));
  EXPECT_THAT(book_.AllSilent(), IsEmpty());
  // It was there all the time.
  book_.OnTask(Entry("ps/1", TaskState::kHealthy, 6), true);
  EXPECT_OK(book_.Lost());
}

TEST_F(ServerBookTest, OneThatHasLostItsVariablesAndIsSilentHasStillLostThem) {
  book_.OnTask(Entry("ps/1", TaskState::kRestarted, 7), true);
  book_.OnTask(Silent("ps/1", seconds(5), 7), true);
  EXPECT_THAT(book_.Lost(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(book_.AllSilent(), IsEmpty());
}

TEST_F(ServerBookTest, OneThatIsLeftOutIsNotWaitedFor) {
  left_out_ = {1};
  book_.OnTask(Silent("ps/1", seconds(5)), true);
  EXPECT_THAT(book_.AllSilent(), IsEmpty());
  EXPECT_EQ(book_.Reminder("ps/1", seconds(5)), std::nullopt);
}

TEST_F(ServerBookTest, ReminderComesAtFirstAndThenNowAndThen) {
  std::vector<int> said;
  for (int at = 1; at <= 11; ++at) {
    book_.OnTask(Silent("ps/1", seconds(at)), true);
    if (book_.Reminder("ps/1", seconds(5))) said.push_back(at);
  }
  EXPECT_THAT(said, ElementsAre(1, 5, 10));
  book_.OnTask(Entry("ps/1", TaskState::kHealthy, 6), true);
  EXPECT_EQ(book_.Reminder("ps/1", seconds(5)), std::nullopt);
  book_.OnTask(Silent("ps/1", seconds(2)), true);
  EXPECT_THAT(book_.Reminder("ps/1", seconds(5)),
              Optional(HasSubstr("has not answered for 2 s")));
}

TEST_F(ServerBookTest, OneThatIsCutOffAndReturnsHasLostNothing) {
  EXPECT_TRUE(book_.OnTask(Entry("ps/1", TaskState::kUnreachable, 6), true));
  EXPECT_THAT(book_.Lost(), StatusIs(absl::StatusCode::kUnavailable,
                                     AllOf(HasSubstr("ps/1 at here is lost"))));
  EXPECT_THAT(book_.Awaited(), ElementsAre("ps/1"));
  EXPECT_THAT(book_.Absent(), ElementsAre(1));
  EXPECT_FALSE(book_.OnTask(Entry("ps/1", TaskState::kHealthy, 6), true));
  EXPECT_OK(book_.Lost());
}

TEST_F(ServerBookTest, AnotherProcessHasLostThemUntilTheyAreMadeOnIt) {
  EXPECT_TRUE(book_.OnTask(Entry("ps/1", TaskState::kRestarted, 7), true));
  EXPECT_THAT(book_.Lost(), StatusIs(absl::StatusCode::kUnavailable,
                                     HasSubstr("ps/1 at here was restarted")));
  EXPECT_THAT(book_.Awaited(), IsEmpty());
  book_.HaveVariables(book_.Now());
  EXPECT_OK(book_.Lost());
}

TEST_F(ServerBookTest, OneThatIsRestartedWhileTheyAreMadeHasLostThem) {
  book_.OnTask(Entry("ps/1", TaskState::kRestarted, 7), true);
  const ServerBook::Processes before = book_.Now();
  book_.OnTask(Entry("ps/1", TaskState::kRestarted, 8), true);
  book_.HaveVariables(before);
  EXPECT_THAT(book_.Lost(), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(ServerBookTest, WithoutVariablesNothingIsLost) {
  book_.OnTask(Entry("ps/1", TaskState::kRestarted, 7), false);
  EXPECT_OK(book_.Lost());
}

TEST_F(ServerBookTest, OneThatIsLeftOutIsNoLoss) {
  book_.OnTask(Entry("ps/1", TaskState::kUnreachable, 6), true);
  left_out_ = {1};
  EXPECT_OK(book_.Lost());
  EXPECT_THAT(book_.Awaited(), IsEmpty());
  EXPECT_THAT(book_.Absent(), ElementsAre(1));
  EXPECT_THAT(book_.LeftOut(), ElementsAre("ps/1"));
  EXPECT_THAT(book_.Returned(), IsEmpty());
  EXPECT_FALSE(book_.Answers("ps/1"));
  book_.OnTask(Entry("ps/1", TaskState::kRestarted, 9), true);
  EXPECT_OK(book_.Lost());
  EXPECT_THAT(book_.Returned(), ElementsAre("ps/1"));
  EXPECT_TRUE(book_.Answers("ps/1"));
}

TEST_F(ServerBookTest, NumbersAscendWhateverTheNames) {
  for (const char* task : {"ps/10", "ps/2"}) {
    book_.OnTask(Entry(task, TaskState::kMissing, 0), true);
  }
  EXPECT_THAT(book_.Absent(), ElementsAre(2, 10));
}

}  // namespace
}  // namespace capstan

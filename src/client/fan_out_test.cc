#include "client/fan_out.h"

#include <gtest/gtest.h>

#include <asio/io_context.hpp>
#include <deque>
#include <functional>
#include <future>
#include <string>
#include <vector>

#include "base/async/run_on.h"
#include "simulation/sim_clock.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::StatusIs;

// Gives its scripted answers, each after a delay; from then on OK. Its peer is
// the task `name`.
class ScriptedChannel final : public Channel {
 public:
  struct Call {
    Method method;
    std::string body;
    std::vector<Bytes> attachments;
    CallOptions options;
    MonotonicTime time;
  };

  ScriptedChannel(Clock& clock, Executor executor, std::string name)
      : clock_(clock), executor_(std::move(executor)), name_(std::move(name)) {}

  Task<absl::StatusOr<Reply>> Call(Method method, std::string body,
                                   std::vector<Bytes> attachments,
                                   CallOptions options) override {
    Cancellation* const cancellation = options.cancellation;
    calls.push_back({.method = method,
                     .body = body,
                     .attachments = std::move(attachments),
                     .options = std::move(options),
                     .time = clock_.Now()});
    const std::unique_ptr<Timer> timer = clock_.NewTimer(executor_);
    const MonotonicTime until = clock_.Now() + latency;
    const Cancellation::Registration wake(cancellation,
                                          [&timer] { timer->Cancel(); });
    const bool answered = co_await timer->SleepUntil(until);
    if (!answered) co_return WithTask(absl::CancelledError("by caller"), name_);
    absl::Status status;
    if (!answers.empty()) {
      status = answers.front();
      answers.pop_front();
    }
    if (on_answer) on_answer();
    if (!status.ok()) co_return WithTask(status, name_);
    Reply reply;
    reply.body = "answer to " + body;
    co_return reply;
  }
  Task<> Close() override { co_return; }
  std::string peer() const override { return name_ + " at home"; }

  std::deque<absl::Status> answers;
  Duration latency = std::chrono::milliseconds(1);
  std::function<void()> on_answer;  // may be null
  std::vector<struct Call> calls;

 private:
  Clock& clock_;
  const Executor executor_;
  const std::string name_;
};

class FanOutTest : public ::testing::Test {
 protected:
  FanOutTest()
      : servers_{.clock = clock_,
                 .executor = context_.get_executor(),
                 .channels = {},
                 .random = Random(1),
                 .backoff = {}} {
    for (int i = 0; i < 3; ++i) {
      auto channel = std::make_unique<ScriptedChannel>(
          clock_, context_.get_executor(), "ps/" + std::to_string(i));
      channels_.push_back(channel.get());
      servers_.channels.push_back(std::move(channel));
    }
  }

  std::vector<ServerRequest> ServerRequests(uint32_t count) {
    std::vector<ServerRequest> server_requests(count);
    for (uint32_t i = 0; i < count; ++i) {
      server_requests[i].server = i;
      server_requests[i].method = Method::kPush;
      server_requests[i].body = std::to_string(i);
    }
    return server_requests;
  }

  std::future<absl::Status> Start(std::vector<ServerRequest>& server_requests,
                                  Duration timeout,
                                  Cancellation* cancellation) {
    TimeLimits limits = limits_;
    limits.timeout = timeout;
    return StartOn(Executor(context_.get_executor()),
                   FanOut(servers_, server_requests, limits, cancellation));
  }
  absl::Status Finish(std::future<absl::Status>& done) {
    while (true) {
      context_.restart();
      context_.poll();
      if (done.wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
        return done.get();
      }
      if (!clock_.RunNext()) return absl::InternalError("waits for nothing");
    }
  }
  absl::Status Run(std::vector<ServerRequest>& server_requests,
                   Duration timeout = std::chrono::seconds(30),
                   Cancellation* cancellation = nullptr) {
    std::future<absl::Status> done =
        Start(server_requests, timeout, cancellation);
    return Finish(done);
  }
  // The same, cancelled after two seconds; the limit is a day.
  absl::Status RunCancelled(std::vector<ServerRequest>& server_requests) {
    Cancellation cancellation;
    CancelSoon(cancellation);
    const MonotonicTime start = clock_.Now();
    const absl::Status status =
        Run(server_requests, std::chrono::hours(24), &cancellation);
    EXPECT_EQ(clock_.Now(), start + std::chrono::seconds(2));
    return status;
  }
  void CancelSoon(Cancellation& cancellation) {
    clock_.ScheduleAfter(std::chrono::seconds(2),
                         [&cancellation] { cancellation.Cancel(); });
  }

  SimClock clock_;
  TimeLimits limits_;
  asio::io_context context_;
  ServerChannels servers_;
  std::vector<ScriptedChannel*> channels_;
};

TEST_F(FanOutTest, NobodyIsAsked) {
  std::vector<ServerRequest> server_requests;
  EXPECT_OK(Run(server_requests));
}

TEST_F(FanOutTest, AllAreAskedAtOnce) {
  std::vector<ServerRequest> server_requests = ServerRequests(3);
  const std::vector<std::byte> memory(8);
  server_requests[1].attachments = {Bytes(memory)};
  server_requests[2].reply_limit = 77;
  const MonotonicTime start = clock_.Now();
  ASSERT_OK(Run(server_requests));
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(channels_[i]->calls.size(), 1u);
    EXPECT_EQ(channels_[i]->calls[0].time, start);
    EXPECT_EQ(channels_[i]->calls[0].method, Method::kPush);
    EXPECT_OK(server_requests[i].status);
    EXPECT_EQ(server_requests[i].reply.body, "answer to " + std::to_string(i));
  }
  EXPECT_EQ(channels_[1]->calls[0].attachments[0].data(), memory.data());
  EXPECT_EQ(channels_[2]->calls[0].options.reply_limit, 77u);
  EXPECT_EQ(clock_.Now(), start + std::chrono::milliseconds(1));
}

TEST_F(FanOutTest, SeveralRequestsToOneServer) {
  std::vector<ServerRequest> server_requests = ServerRequests(2);
  server_requests[1].server = 0;
  ASSERT_OK(Run(server_requests));
  EXPECT_EQ(channels_[0]->calls.size(), 2u);
  EXPECT_EQ(server_requests[1].reply.body, "answer to 1");
}

TEST_F(FanOutTest, AServerThatIsAwayIsAskedAgainTheSame) {
  for (const uint32_t count : {1u, 3u}) {
    channels_[0]->calls.clear();
    std::vector<ServerRequest> server_requests = ServerRequests(count);
    const std::vector<std::byte> memory(8);
    std::vector<std::byte> into(4);
    server_requests[0].attachments = {Bytes(memory)};
    server_requests[0].receive_into = {MutableBytes(into)};
    channels_[0]->answers = {absl::UnavailableError("away"),
                             absl::UnavailableError("away")};
    ASSERT_OK(Run(server_requests));
    ASSERT_EQ(channels_[0]->calls.size(), 3u);
    Duration last = Duration::max();
    for (const auto& call : channels_[0]->calls) {
      EXPECT_EQ(call.body, "0");
      ASSERT_EQ(call.attachments.size(), 1u);
      EXPECT_EQ(call.attachments[0].data(), memory.data());
      ASSERT_TRUE(call.options.receive_into.has_value());
      EXPECT_EQ((*call.options.receive_into)[0].data(), into.data());
      // Only what is left of the time.
      EXPECT_LT(call.options.timeout, last);
      last = call.options.timeout;
    }
    // After a back-off.
    EXPECT_GT(channels_[0]->calls[1].time, channels_[0]->calls[0].time);
  }
}

TEST_F(FanOutTest, OnlyThatServerIsAskedAgain) {
  std::vector<ServerRequest> server_requests = ServerRequests(3);
  channels_[1]->answers = {absl::UnavailableError("away")};
  ASSERT_OK(Run(server_requests));
  EXPECT_EQ(channels_[0]->calls.size(), 1u);
  EXPECT_EQ(channels_[1]->calls.size(), 2u);
}

TEST_F(FanOutTest, UntilTheTimeIsOver) {
  std::vector<ServerRequest> server_requests = ServerRequests(2);
  channels_[1]->answers.assign(1000, absl::UnavailableError("away for good"));
  const MonotonicTime start = clock_.Now();
  EXPECT_THAT(
      Run(server_requests, std::chrono::seconds(20)),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("away for good")));
  EXPECT_LE(clock_.Now(), start + std::chrono::seconds(20));
  EXPECT_GT(channels_[1]->calls.size(), 5u);
  EXPECT_LT(channels_[1]->calls.size(), 50u);
  EXPECT_OK(server_requests[0].status);
}

// It can only have taken so long because bytes moved.
TEST_F(FanOutTest, ALongTransferThatIsLostIsAskedForAgain) {
  std::vector<ServerRequest> server_requests = ServerRequests(1);
  channels_[0]->latency = std::chrono::seconds(40);
  channels_[0]->answers = {absl::UnavailableError("lost"),
                           absl::UnavailableError("lost again")};
  EXPECT_OK(Run(server_requests, std::chrono::seconds(30)));
  ASSERT_EQ(channels_[0]->calls.size(), 3u);
  // With nearly all of the time available.
  for (const auto& call : channels_[0]->calls) {
    EXPECT_GT(call.options.timeout, std::chrono::seconds(20));
  }
}

TEST_F(FanOutTest, AShortTransferThatIsLostIsAskedForAgain) {
  std::vector<ServerRequest> server_requests = ServerRequests(1);
  channels_[0]->latency = std::chrono::seconds(29);
  channels_[0]->answers = {absl::UnavailableError("lost")};
  EXPECT_OK(Run(server_requests, std::chrono::seconds(30)));
}

TEST_F(FanOutTest, NothingOutlivesTheLimitInAll) {
  std::vector<ServerRequest> server_requests = ServerRequests(1);
  const MonotonicTime start = clock_.Now();
  limits_.deadline = start + std::chrono::seconds(50);
  channels_[0]->latency = std::chrono::seconds(20);
  channels_[0]->answers.assign(1000, absl::UnavailableError("lost"));
  EXPECT_THAT(Run(server_requests), StatusIs(absl::StatusCode::kUnavailable));
  for (const auto& call : channels_[0]->calls) {
    EXPECT_EQ(call.options.limit, limits_.deadline - call.time);
  }
  EXPECT_LT(channels_[0]->calls.back().time, limits_.deadline);
}

TEST_F(FanOutTest, OtherErrorsAreNotTriedAgain) {
  std::vector<ServerRequest> server_requests = ServerRequests(2);
  channels_[0]->answers = {absl::FailedPreconditionError("fenced")};
  EXPECT_THAT(Run(server_requests),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(channels_[0]->calls.size(), 1u);
}

TEST_F(FanOutTest, AllAreWaitedForEvenIfOneFails) {
  std::vector<ServerRequest> server_requests = ServerRequests(3);
  channels_[0]->answers = {absl::InvalidArgumentError("bad")};
  channels_[2]->latency = std::chrono::seconds(5);
  EXPECT_THAT(Run(server_requests),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_OK(server_requests[2].status);
  EXPECT_EQ(server_requests[2].reply.body, "answer to 2");
}

TEST_F(FanOutTest, AnyErrorSaysMoreThanThatTheMapIsOld) {
  for (const bool first : {false, true}) {
    std::vector<ServerRequest> server_requests = ServerRequests(3);
    channels_[first ? 0 : 2]->answers = {absl::AbortedError("old")};
    channels_[1]->answers = {absl::InvalidArgumentError("bad")};
    EXPECT_THAT(Run(server_requests),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
  std::vector<ServerRequest> server_requests = ServerRequests(3);
  channels_[0]->answers = {absl::AbortedError("old")};
  EXPECT_THAT(Run(server_requests), StatusIs(absl::StatusCode::kAborted));
}

TEST_F(FanOutTest, TheFirstOfTwoErrorsIsTold) {
  std::vector<ServerRequest> server_requests = ServerRequests(3);
  channels_[1]->answers = {absl::InvalidArgumentError("one")};
  channels_[2]->answers = {absl::OutOfRangeError("two")};
  EXPECT_THAT(Run(server_requests),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(FanOutTest, CancelledBeforeItBeginsSendsNothing) {
  Cancellation cancellation;
  cancellation.Cancel();
  for (const uint32_t count : {1u, 3u}) {
    std::vector<ServerRequest> server_requests = ServerRequests(count);
    const MonotonicTime start = clock_.Now();
    EXPECT_THAT(Run(server_requests, std::chrono::seconds(30), &cancellation),
                StatusIs(absl::StatusCode::kCancelled,
                         HasSubstr("update cancelled before it was sent")));
    EXPECT_EQ(clock_.Now(), start);
    for (uint32_t i = 0; i < count; ++i) {
      EXPECT_TRUE(channels_[i]->calls.empty());
      EXPECT_THAT(server_requests[i].status,
                  StatusIs(absl::StatusCode::kCancelled));
    }
  }
}

TEST_F(FanOutTest, CancelledDuringACallNamesTheServer) {
  std::vector<ServerRequest> server_requests = ServerRequests(3);
  channels_[1]->latency = std::chrono::hours(1);
  const absl::Status status = RunCancelled(server_requests);
  EXPECT_THAT(
      status,
      StatusIs(absl::StatusCode::kCancelled,
               HasSubstr("update cancelled while waiting for ps/1 at home")));
  EXPECT_EQ(TaskOf(status), "ps/1");
  EXPECT_OK(server_requests[0].status);
  EXPECT_EQ(server_requests[2].reply.body, "answer to 2");
}

TEST_F(FanOutTest, CancelledDuringBackOff) {
  for (const uint32_t count : {1u, 3u}) {
    // Only the last server is away, and none is asked again during the test.
    ScriptedChannel& away = *channels_[count - 1];
    away.answers = {absl::UnavailableError("connection refused")};
    servers_.backoff = {.initial = std::chrono::hours(1),
                        .max = std::chrono::hours(1)};
    std::vector<ServerRequest> server_requests = ServerRequests(count);
    const absl::Status status = RunCancelled(server_requests);
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kCancelled,
                         AllOf(HasSubstr("while waiting for " + away.peer()),
                               HasSubstr("connection refused"))));
    EXPECT_EQ(TaskOf(status), "ps/" + std::to_string(count - 1));
    EXPECT_TRUE(away.answers.empty());
  }
  EXPECT_EQ(channels_[2]->calls.size(), 1u);
}

TEST_F(FanOutTest, CancelledSaysMoreThanAnyOtherError) {
  for (const absl::Status& other :
       {absl::InvalidArgumentError("bad"), absl::AbortedError("old")}) {
    std::vector<ServerRequest> server_requests = ServerRequests(3);
    channels_[0]->answers = {other};
    channels_[2]->latency = std::chrono::hours(1);
    EXPECT_THAT(RunCancelled(server_requests),
                StatusIs(absl::StatusCode::kCancelled, HasSubstr("ps/2")));
    EXPECT_EQ(server_requests[0].status.code(), other.code());
  }
}

// The last request has been answered, but the caller has not woken up yet.
TEST_F(FanOutTest, CancelledAtTheEnd) {
  Cancellation cancellation;
  std::vector<ServerRequest> server_requests = ServerRequests(2);
  channels_[0]->latency = Duration::zero();
  channels_[1]->on_answer = [&cancellation] { cancellation.Cancel(); };
  EXPECT_THAT(Run(server_requests, std::chrono::seconds(30), &cancellation),
              StatusIs(absl::StatusCode::kCancelled));
  EXPECT_OK(server_requests[0].status);
  EXPECT_OK(server_requests[1].status);
}

TEST_F(FanOutTest, ManyCallsAreCancelledAtOnce) {
  Cancellation cancellation;
  std::vector<std::vector<ServerRequest>> server_requests(5);
  std::vector<std::future<absl::Status>> calls;
  for (ScriptedChannel* channel : channels_) {
    channel->latency = std::chrono::hours(1);
  }
  for (std::vector<ServerRequest>& mine : server_requests) {
    mine = ServerRequests(3);
    calls.push_back(Start(mine, std::chrono::hours(24), &cancellation));
  }
  CancelSoon(cancellation);
  for (std::future<absl::Status>& call : calls) {
    EXPECT_THAT(Finish(call), StatusIs(absl::StatusCode::kCancelled));
  }
  // No waiters are left behind.
  EXPECT_FALSE(clock_.RunNext());
}

TEST_F(FanOutTest, ACancellationThatIsNotUsedChangesNothing) {
  Cancellation cancellation;
  std::vector<ServerRequest> server_requests = ServerRequests(3);
  channels_[1]->answers = {absl::UnavailableError("away")};
  ASSERT_OK(Run(server_requests, std::chrono::seconds(30), &cancellation));
  // The call has ended, so this has no effect.
  cancellation.Cancel();
  EXPECT_OK(server_requests[1].status);
}

}  // namespace
}  // namespace capstan

#include "worker/worker_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <asio/io_context.hpp>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/async/event.h"
#include "base/async/real_clock.h"
#include "base/async/run_on.h"
#include "testing/log_capture.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

// A request without attachments.
class FakeCall final : public ServerCall {
 public:
  FakeCall(Method method, std::string body)
      : method_(method), body_(std::move(body)) {}

  Method method() const override { return method_; }
  std::string_view body() const override { return body_; }
  const Hello& peer() const override { return peer_; }
  MonotonicTime deadline() const override { return {}; }
  uint64_t reply_limit() const override { return 0; }
  bool cancelled() const override { return cancelled_; }
  void OnCancel(std::function<void()> listener) override {
    listener_ = std::move(listener);
  }
  std::span<const uint64_t> attachment_sizes() const override { return {}; }
  Task<absl::Status> Receive(MutableBytes) override {
    co_return absl::OutOfRangeError("none");
  }
  Task<absl::StatusOr<Buffer>> ReceiveAll() override {
    co_return absl::OutOfRangeError("none");
  }

  // The caller disconnects.
  void Cancel() {
    cancelled_ = true;
    if (listener_) listener_();
  }

 private:
  const Method method_;
  const std::string body_;
  const Hello peer_;
  bool cancelled_ = false;
  std::function<void()> listener_;
};

// Runs functions until the test releases them.
class FakeRunner final : public Runner {
 public:
  explicit FakeRunner(const Executor& executor) : executor_(executor) {}

  const std::vector<FunctionInfo>& functions() const override {
    return functions_;
  }
  const std::vector<ResourceInfo>& resources() const override {
    return resources_;
  }
  uint32_t concurrency() const override { return 2; }

  Task<absl::StatusOr<EncodedValue>> Run(
      uint32_t, Step& step, const EncodedValue& arguments,
      const ResourceFinder& finder) override {
    const uint64_t number = step.id().step;
    running.push_back(number);
    const auto [place, added] = ends_.try_emplace(number, executor_);
    co_await place->second.Wait();
    ends_.erase(number);
    std::erase(running, number);
    if (arguments.bytes == "fail") co_return absl::DataLossError("failed");
    if (step.cancelled()) co_return absl::CancelledError("told to");
    if (arguments.bytes == "resource") {
      pipelines.push_back(*std::static_pointer_cast<int>(finder(7)));
    }
    EncodedValue value;
    value.bytes = "value of " + arguments.bytes;
    co_return value;
  }

  Task<absl::StatusOr<std::shared_ptr<void>>> Make(
      uint32_t index, InputContext input) override {
    ++made;
    if (index == 1) co_return absl::NotFoundError("no file");
    co_return std::make_shared<int>(input.input_pipeline_id);
  }

  // Ends the function of a step.
  void Release(uint64_t step) { ends_.at(step).Set(); }

  std::vector<uint64_t> running;
  int made = 0;
  // Of resource 7, as seen by functions.
  std::vector<int> pipelines;

 private:
  const Executor executor_;
  const std::vector<FunctionInfo> functions_ = {
      {.name = "f", .signature = "i32()", .options = {}}};
  const std::vector<ResourceInfo> resources_ = {{.name = "good", .type = "int"},
                                                {.name = "bad", .type = "int"}};
  std::map<uint64_t, Event> ends_;
};

class NextService final : public Service {
 public:
  Task<ServerReply> Serve(ServerCall&) override {
    ServerReply reply;
    reply.body = "next";
    co_return reply;
  }
};

// A pending answer and its request.
struct Pending {
  std::unique_ptr<FakeCall> call;
  std::future<ServerReply> reply;

  bool done() const {
    return reply.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
};

class WorkerServiceTest : public ::testing::Test {
 protected:
  WorkerServiceTest()
      : client_(clock_, context_.get_executor(), {}, Random(1, 2)),
        runner_(context_.get_executor()),
        service_(clock_, log_.NewLogger(), context_.get_executor(), client_,
                 runner_, {.task = "worker/3", .incarnation = 55}, next_) {}

  void Poll() {
    context_.restart();
    context_.poll();
  }

  Pending Start(Method method, std::string body) {
    Pending pending;
    pending.call = std::make_unique<FakeCall>(method, std::move(body));
    pending.reply = StartOn(Executor(context_.get_executor()),
                            service_.Serve(*pending.call));
    Poll();
    return pending;
  }
  ServerReply Ask(Method method, std::string body) {
    Pending pending = Start(method, std::move(body));
    if (!pending.done()) {
      ADD_FAILURE() << "it waits";
      ServerReply reply;
      reply.status = absl::UnknownError("it waits");
      return reply;
    }
    return pending.reply.get();
  }

  absl::StatusOr<AttachReply> Attach(uint64_t session, uint64_t term = 1,
                                     uint64_t holder = 9) {
    const AttachRequest request = {
        .coordinator_term = {.term = term, .holder = holder},
        .session = session};
    const ServerReply reply =
        Ask(Method::kWorkerAttach, EncodeAttachRequest(request));
    if (!reply.status.ok()) return reply.status;
    return DecodeAttachReply(reply.body);
  }

  static std::string Closure(uint64_t session, uint64_t step,
                             std::string arguments = "") {
    RunRequest request;
    request.session = session;
    request.id.step = step;
    request.arguments = std::move(arguments);
    return EncodeRunRequest(request);
  }
  Pending Run(uint64_t session, uint64_t step, std::string arguments = "") {
    return Start(Method::kWorkerRun,
                 Closure(session, step, std::move(arguments)));
  }

  absl::Status Cancel(uint64_t session, std::vector<uint64_t> steps,
                      bool unless_started = false) {
    const CancelRequest request = {.session = session,
                                   .steps = std::move(steps),
                                   .unless_started = unless_started};
    return Ask(Method::kWorkerCancel, EncodeCancelRequest(request)).status;
  }

  absl::StatusOr<RunReply> Make(uint64_t session, uint64_t id,
                                uint32_t resource, int pipeline = 0) {
    MakeRequest request;
    request.input.input_pipeline_id = pipeline;
    request.input.num_input_pipelines = 4;
    request.session = session;
    request.id = id;
    request.resource = resource;
    const ServerReply reply =
        Ask(Method::kWorkerMake, EncodeMakeRequest(request));
    if (!reply.status.ok()) return reply.status;
    return DecodeRunReply(reply.body);
  }

  void Release(uint64_t step) {
    runner_.Release(step);
    Poll();
  }

  static absl::StatusOr<RunReply> End(Pending& pending) {
    if (!pending.done()) return absl::UnknownError("it waits");
    const ServerReply reply = pending.reply.get();
    if (!reply.status.ok()) return reply.status;
    return DecodeRunReply(reply.body);
  }

  RealClock clock_;
  LogCapture log_;
  asio::io_context context_{1};
  NextService next_;
  ParameterClient client_;
  FakeRunner runner_;
  WorkerService service_;
};

TEST_F(WorkerServiceTest, AnAttachmentIsAnsweredWithWhatThereIs) {
  const absl::StatusOr<AttachReply> reply = Attach(1);
  ASSERT_OK(reply);
  EXPECT_EQ(reply->incarnation, 55u);
  EXPECT_EQ(reply->concurrency, 2u);
  ASSERT_EQ(reply->functions.size(), 1u);
  EXPECT_EQ(reply->functions[0].name, "f");
  EXPECT_EQ(reply->resources.size(), 2u);
  EXPECT_TRUE(reply->made.empty());
}

TEST_F(WorkerServiceTest, AClosureIsAnsweredWhenItHasEnded) {
  ASSERT_OK(Attach(1));
  Pending good = Run(1, 1, "a");
  Pending bad = Run(1, 2, "fail");
  EXPECT_FALSE(good.done());
  Release(1);
  const absl::StatusOr<RunReply> value = End(good);
  ASSERT_OK(value);
  EXPECT_EQ(value->end, RunEnd::kDone);
  EXPECT_EQ(value->value, "value of a");
  Release(2);
  const absl::StatusOr<RunReply> failed = End(bad);
  ASSERT_OK(failed);
  EXPECT_EQ(failed->end, RunEnd::kFailed);
  EXPECT_THAT(failed->error,
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("failed")));
}

TEST_F(WorkerServiceTest, AValueThatNobodyWantsIsNotSent) {
  ASSERT_OK(Attach(1));
  RunRequest request;
  request.session = 1;
  request.id.step = 1;
  request.want_value = false;
  Pending run = Start(Method::kWorkerRun, EncodeRunRequest(request));
  Release(1);
  const absl::StatusOr<RunReply> reply = End(run);
  ASSERT_OK(reply);
  EXPECT_EQ(reply->end, RunEnd::kDone);
  EXPECT_EQ(reply->value, "");
}

TEST_F(WorkerServiceTest, WhatIsOfNoSessionOrAnotherIsRefused) {
  const auto is_over =
      StatusIs(absl::StatusCode::kAborted, HasSubstr("the current one is"));
  Pending early = Run(0, 1);
  EXPECT_THAT(End(early), is_over);
  ASSERT_OK(Attach(5));
  for (const uint64_t session : {uint64_t{4}, uint64_t{6}, uint64_t{0}}) {
    Pending run = Run(session, 1);
    EXPECT_THAT(End(run), is_over);
    EXPECT_THAT(Cancel(session, {1}), is_over);
    EXPECT_THAT(Make(session, 7, 0), is_over);
    const DropRequest drop = {.session = session, .ids = {7}};
    EXPECT_THAT(Ask(Method::kWorkerDrop, EncodeDropRequest(drop)).status,
                is_over);
  }
  EXPECT_TRUE(runner_.running.empty());
}

TEST_F(WorkerServiceTest, ANewSessionEndsTheClosuresOfTheOneBefore) {
  ASSERT_OK(Attach(1));
  Pending first = Run(1, 1);
  Pending second = Run(1, 2);
  Pending waits = Run(1, 3);
  ASSERT_OK(Attach(2));
  Poll();
  // The closure that has not begun ends at once, the others when they notice.
  absl::StatusOr<RunReply> end = End(waits);
  ASSERT_OK(end);
  EXPECT_EQ(end->end, RunEnd::kCancelled);
  EXPECT_FALSE(first.done());
  // Closures of the new session wait for them.
  Pending again = Run(2, 4);
  EXPECT_THAT(runner_.running, ElementsAre(1, 2));
  Release(1);
  end = End(first);
  ASSERT_OK(end);
  EXPECT_EQ(end->end, RunEnd::kCancelled);
  EXPECT_THAT(runner_.running, ElementsAre(2, 4));
  Release(2);
  Release(4);
  end = End(again);
  ASSERT_OK(end);
  EXPECT_EQ(end->end, RunEnd::kDone);
  ASSERT_OK(End(second));
}

TEST_F(WorkerServiceTest, AnOldCoordinatorIsRefused) {
  ASSERT_OK(Attach(5, /*term=*/2));
  const auto obeys = StatusIs(absl::StatusCode::kAborted,
                              HasSubstr("obeys the coordinator of term 2"));
  EXPECT_THAT(Attach(6, /*term=*/1), obeys);
  EXPECT_THAT(Attach(6, /*term=*/2, /*holder=*/10), obeys);
  // Its own coordinator may begin a new session, but not an old one.
  EXPECT_THAT(Attach(4, /*term=*/2), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(Attach(5, /*term=*/2).ok(), true) << "the same, asked again";
}

TEST_F(WorkerServiceTest, ResourcesOutliveASessionButNotTheirCoordinator) {
  ASSERT_OK(Attach(1));
  ASSERT_OK(Make(1, 7, 0));
  EXPECT_EQ(runner_.made, 1);
  ASSERT_OK(Make(1, 7, 0));
  EXPECT_EQ(runner_.made, 1) << "it is there";
  const absl::StatusOr<AttachReply> again = Attach(2);
  ASSERT_OK(again);
  EXPECT_THAT(again->made, ElementsAre(7));
  const absl::StatusOr<AttachReply> other = Attach(1, /*term=*/2);
  ASSERT_OK(other);
  EXPECT_TRUE(other->made.empty());
}

TEST_F(WorkerServiceTest, AnotherInputGivesAnotherResource) {
  ASSERT_OK(Attach(1));
  ASSERT_OK(Make(1, 7, 0, /*pipeline=*/0));
  Pending before = Run(1, 1, "resource");
  ASSERT_OK(Make(1, 7, 0, /*pipeline=*/3));
  EXPECT_EQ(runner_.made, 2);
  Pending after = Run(1, 2, "resource");
  Release(2);
  // A running function keeps its resource after that is replaced for others.
  Release(1);
  ASSERT_OK(End(before));
  ASSERT_OK(End(after));
  EXPECT_THAT(runner_.pipelines, ElementsAre(3, 0));
}

TEST_F(WorkerServiceTest, AResourceThatFailsNamesItselfAndIsTriedAgain) {
  ASSERT_OK(Attach(1));
  for (int i = 1; i <= 2; ++i) {
    const absl::StatusOr<RunReply> reply = Make(1, 8, 1);
    ASSERT_OK(reply);
    EXPECT_EQ(reply->end, RunEnd::kFailed);
    EXPECT_THAT(reply->error, StatusIs(absl::StatusCode::kNotFound,
                                       HasSubstr("'bad' of worker/3")));
    EXPECT_EQ(TaskOf(reply->error), "worker/3");
    EXPECT_EQ(runner_.made, i);
  }
  const absl::StatusOr<AttachReply> again = Attach(2);
  ASSERT_OK(again);
  EXPECT_TRUE(again->made.empty());
}

TEST_F(WorkerServiceTest, ADroppedResourceIsGone) {
  ASSERT_OK(Attach(1));
  ASSERT_OK(Make(1, 7, 0));
  const DropRequest drop = {.session = 1, .ids = {7, 99}};
  EXPECT_OK(Ask(Method::kWorkerDrop, EncodeDropRequest(drop)).status);
  const absl::StatusOr<AttachReply> again = Attach(2);
  ASSERT_OK(again);
  EXPECT_TRUE(again->made.empty());
}

TEST_F(WorkerServiceTest, NoMoreRunAtOnceThanItHasThreads) {
  ASSERT_OK(Attach(1));
  std::vector<Pending> runs;
  for (uint64_t step = 1; step <= 5; ++step) runs.push_back(Run(1, step));
  EXPECT_THAT(runner_.running, ElementsAre(1, 2));
  const WorkerReport report = service_.Report();
  ASSERT_EQ(report.running.size(), 5u);
  EXPECT_TRUE(report.running[1].started);
  EXPECT_FALSE(report.running[2].started);
  EXPECT_EQ(report.running[2].function, "f");
  Release(2);
  EXPECT_THAT(runner_.running, ElementsAre(1, 3)) << "in order";
  // A waiting closure that is cancelled lets the next one pass.
  ASSERT_OK(Cancel(1, {4}));
  Poll();
  absl::StatusOr<RunReply> end = End(runs[3]);
  ASSERT_OK(end);
  EXPECT_EQ(end->end, RunEnd::kCancelled);
  Release(1);
  EXPECT_THAT(runner_.running, ElementsAre(3, 5));
  Release(3);
  Release(5);
  EXPECT_EQ(service_.Report().finished, 4u);
  EXPECT_EQ(service_.Report().cancelled, 1u);
  EXPECT_TRUE(service_.Report().running.empty());
}

TEST_F(WorkerServiceTest, WhatHasNotStartedIsGivenBackWhenItIsRecalled) {
  ASSERT_OK(Attach(1));
  Pending first = Run(1, 1);
  Pending second = Run(1, 2);
  Pending waits = Run(1, 3);
  ASSERT_OK(Cancel(1, {1, 3, 4}, /*unless_started=*/true));
  absl::StatusOr<RunReply> end = End(waits);
  ASSERT_OK(end);
  EXPECT_EQ(end->end, RunEnd::kCancelled);
  // Cancelled before it arrives.
  Pending late = Run(1, 4);
  end = End(late);
  ASSERT_OK(end);
  EXPECT_EQ(end->end, RunEnd::kCancelled);
  for (Pending* running : {&first, &second}) {
    EXPECT_FALSE(running->done());
    Release(running == &first ? 1 : 2);
    end = End(*running);
    ASSERT_OK(end);
    EXPECT_EQ(end->end, RunEnd::kDone) << "it was left alone";
  }
}

TEST_F(WorkerServiceTest, ACancellationMayOvertakeItsClosure) {
  ASSERT_OK(Attach(1));
  ASSERT_OK(Cancel(1, {1}));
  Pending run = Run(1, 1);
  absl::StatusOr<RunReply> end = End(run);
  ASSERT_OK(end);
  EXPECT_EQ(end->end, RunEnd::kCancelled);
  EXPECT_TRUE(runner_.running.empty());
  // The cancellation applied only once.
  Pending again = Run(1, 1);
  EXPECT_THAT(runner_.running, ElementsAre(1));
  Release(1);
  ASSERT_OK(End(again));
}

TEST_F(WorkerServiceTest, AClosureThatFailsByItselfKeepsItsError) {
  ASSERT_OK(Attach(1));
  Pending fails = Run(1, 1, "fail");
  Pending ends = Run(1, 2);
  ASSERT_OK(Cancel(1, {1, 2}));
  Release(1);
  Release(2);
  absl::StatusOr<RunReply> end = End(fails);
  ASSERT_OK(end);
  EXPECT_EQ(end->end, RunEnd::kFailed);
  EXPECT_THAT(end->error, StatusIs(absl::StatusCode::kDataLoss));
  end = End(ends);
  ASSERT_OK(end);
  EXPECT_EQ(end->end, RunEnd::kCancelled);
  // It runs again elsewhere, so nothing is lost.
  Pending left = Run(1, 3, "fail");
  service_.Leave();
  Release(3);
  end = End(left);
  ASSERT_OK(end);
  EXPECT_EQ(end->end, RunEnd::kLeaving);
}

TEST_F(WorkerServiceTest, AClosureEndsWhenItsCallerIsGone) {
  ASSERT_OK(Attach(1));
  Pending run = Run(1, 1);
  run.call->Cancel();
  Release(1);
  const absl::StatusOr<RunReply> end = End(run);
  ASSERT_OK(end);
  EXPECT_EQ(end->end, RunEnd::kCancelled);
}

TEST_F(WorkerServiceTest, AWorkerThatLeavesGivesBackWhatItHas) {
  ASSERT_OK(Attach(1));
  Pending runs = Run(1, 1);
  Pending ends = Run(1, 2);
  Pending waits = Run(1, 3);
  service_.Leave();
  Poll();
  absl::StatusOr<RunReply> end = End(waits);
  ASSERT_OK(end);
  EXPECT_EQ(end->end, RunEnd::kLeaving);
  Release(1);
  end = End(runs);
  ASSERT_OK(end);
  EXPECT_EQ(end->end, RunEnd::kLeaving);
  Release(2);
  ASSERT_OK(End(ends));
  EXPECT_THAT(Attach(2), StatusIs(absl::StatusCode::kUnavailable,
                                  HasSubstr("worker/3 leaves")));
}

// What reaches a worker after it has announced that it is leaving.
TEST_F(WorkerServiceTest, AWorkerThatHasLeftRunsNothingMore) {
  ASSERT_OK(Attach(1));
  service_.Leave();
  Pending late = Run(1, 1);
  EXPECT_TRUE(runner_.running.empty());
  const absl::StatusOr<RunReply> end = End(late);
  ASSERT_OK(end);
  EXPECT_EQ(end->end, RunEnd::kLeaving);
}

TEST_F(WorkerServiceTest, NumbersThatNameNothingAreRefused) {
  ASSERT_OK(Attach(1));
  RunRequest request;
  request.session = 1;
  request.function = 1;
  EXPECT_THAT(Ask(Method::kWorkerRun, EncodeRunRequest(request)).status,
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("has 1 functions, none with number 1")));
  EXPECT_THAT(Make(1, 7, 2),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("has 2 resources, none with number 2")));
}

TEST_F(WorkerServiceTest, BodiesThatCannotBeParsedAreRefused) {
  ASSERT_OK(Attach(1));
  for (const Method method :
       {Method::kWorkerAttach, Method::kWorkerRun, Method::kWorkerCancel,
        Method::kWorkerMake, Method::kWorkerDrop}) {
    EXPECT_THAT(Ask(method, "\xff\xff\xff").status,
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
}

TEST_F(WorkerServiceTest, OtherMethodsArePassedOn) {
  EXPECT_EQ(Ask(Method::kDispatchStatus, "").body, "next");
  const ServerReply reply = Ask(Method::kWorkerStatus, "");
  EXPECT_OK(DecodeWorkerReport(reply.body));
}

}  // namespace
}  // namespace capstan

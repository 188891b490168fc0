// Which input pipelines workers are told to make as workers come and go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <asio/io_context.hpp>
#include <map>
#include <optional>

#include "base/async/event.h"
#include "base/async/run_on.h"
#include "coordinator/dispatcher.h"
#include "simulation/sim_clock.h"
#include "testing/log_capture.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::Pair;
using Pipeline = std::pair<int, int>;  // index, number of pipelines

// A worker's process, as its coordinator sees it.
struct FakeWorker {
  bool there = true;
  uint64_t incarnation = 1;
  // What it has, by id and by name, and every dataset that it ever made.
  std::map<uint64_t, InputContext> made;
  std::map<std::string, Pipeline> has;
  std::vector<Pipeline> datasets;
  int tables = 0;
  int runs = 0;
  // Making waits for this if it is not null.
  Event* gate = nullptr;
};

class FakeChannel final : public Channel {
 public:
  explicit FakeChannel(std::shared_ptr<FakeWorker> worker)
      : worker_(std::move(worker)) {}

  Task<absl::StatusOr<Reply>> Call(Method method, std::string body,
                                   std::vector<Bytes>, CallOptions) override {
    if (!worker_->there) co_return absl::UnavailableError("away");
    Reply reply;
    if (method == Method::kWorkerAttach) {
      AttachReply attached;
      attached.incarnation = worker_->incarnation;
      attached.functions = {{.name = "f", .signature = "s", .options = {}}};
      attached.resources = {{.name = "dataset", .type = "t"},
                            {.name = "table", .type = "t"}};
      for (const auto& [id, made] : worker_->made) attached.made.push_back(id);
      reply.body = EncodeAttachReply(attached);
    } else if (method == Method::kWorkerMake) {
      const absl::StatusOr<MakeRequest> request = DecodeMakeRequest(body);
      EXPECT_OK(request);
      if (worker_->gate != nullptr) co_await worker_->gate->Wait();
      if (!worker_->there) co_return absl::UnavailableError("away");
      Make(*request);
      reply.body = EncodeRunReply(RunReply());
    } else if (method == Method::kWorkerRun) {
      ++worker_->runs;
      reply.body = EncodeRunReply(RunReply());
    }
    co_return reply;
  }
  Task<> Close() override { co_return; }
  std::string peer() const override { return "worker"; }

 private:
  // Like a worker: keeps a resource that was made for the same input.
  void Make(const MakeRequest& request) {
    const auto known = worker_->made.find(request.id);
    if (known != worker_->made.end() && known->second == request.input) return;
    worker_->made[request.id] = request.input;
    const Pipeline pipeline = {request.input.input_pipeline_id,
                               request.input.num_input_pipelines};
    worker_->has[request.resource == 0 ? "dataset" : "table"] = pipeline;
    if (request.resource == 0) {
      worker_->datasets.push_back(pipeline);
    } else {
      ++worker_->tables;
    }
  }

  const std::shared_ptr<FakeWorker> worker_;
};

class InputPipelinesTest : public ::testing::Test {
 protected:
  InputPipelinesTest()
      : client_(clock_, executor(), {}, Random(1)),
        dispatcher_(
            clock_, log_.NewLogger(), executor(),
            [] { return CoordinatorTerm(); }, client_,
            [this](const std::string& task, const std::string&) {
              return std::make_unique<FakeChannel>(workers_.at(task));
            },
            Random(2), DispatcherOptions()) {
    dispatcher_.Start();
    dataset_ = dispatcher_.resources().Add(
        Info({.name = "dataset", .type = "t", .input_pipeline = true}));
    table_ = dispatcher_.resources().Add(Info({.name = "table", .type = "t"}));
  }
  ~InputPipelinesTest() override {
    std::future<void> stopped = StartOn(executor(), dispatcher_.Stop());
    RunFor(seconds(1));
    EXPECT_EQ(stopped.wait_for(seconds(0)), std::future_status::ready);
  }

  static std::shared_ptr<const ResourceInfo> Info(ResourceInfo info) {
    return std::make_shared<const ResourceInfo>(std::move(info));
  }
  Executor executor() { return context_.get_executor(); }

  void RunFor(Duration duration) {
    const MonotonicTime end = clock_.Now() + duration;
    do {
      context_.restart();
      while (context_.poll() > 0) {
      }
    } while (clock_.NextTime() <= end && clock_.RunNext());
    clock_.AdvanceTo(end);
  }

  FakeWorker& Add(int index) {
    const std::string task = "worker/" + std::to_string(index);
    std::shared_ptr<FakeWorker>& worker = workers_[task];
    worker = std::make_shared<FakeWorker>();
    Tell(index, TaskState::kHealthy);
    return *worker;
  }
  void Tell(int index, TaskState state) {
    TaskEntry entry;
    entry.task = "worker/" + std::to_string(index);
    entry.state = state;
    dispatcher_.OnTask(entry);
  }
  // It dies, or returns as another process.
  void Kill(int index) {
    workers_.at("worker/" + std::to_string(index))->there = false;
    Tell(index, TaskState::kUnreachable);
  }
  void Restart(int index) {
    FakeWorker& worker = *workers_.at("worker/" + std::to_string(index));
    worker.there = true;
    worker.made.clear();
    worker.has.clear();
    ++worker.incarnation;
    Tell(index, TaskState::kRestarted);
  }

  SimClock clock_;
  LogCapture log_;
  asio::io_context context_{1};
  std::map<std::string, std::shared_ptr<FakeWorker>> workers_;
  ParameterClient client_;
  Dispatcher dispatcher_;
  std::shared_ptr<const uint64_t> dataset_;
  std::shared_ptr<const uint64_t> table_;
};

TEST_F(InputPipelinesTest, AllGetNewOnesWhenAWorkerJoins) {
  FakeWorker& first = Add(0);
  RunFor(seconds(1));
  EXPECT_THAT(first.datasets, ElementsAre(Pair(0, 1)));
  FakeWorker& second = Add(1);
  FakeWorker& third = Add(2);
  RunFor(seconds(1));
  EXPECT_EQ(first.has["dataset"], Pipeline(0, 3));
  EXPECT_EQ(second.has["dataset"], Pipeline(1, 3));
  EXPECT_EQ(third.has["dataset"], Pipeline(2, 3));
  // A resource that is not a dataset keeps its state.
  EXPECT_EQ(first.tables, 1);
}

TEST_F(InputPipelinesTest, TheOthersShareThePartOfOneThatHasLeft) {
  FakeWorker& first = Add(0);
  Add(1);
  FakeWorker& third = Add(2);
  RunFor(seconds(1));
  Tell(1, TaskState::kMissing);
  RunFor(seconds(1));
  EXPECT_EQ(first.has["dataset"], Pipeline(0, 2));
  EXPECT_EQ(third.has["dataset"], Pipeline(1, 2));
}

// worker/10 comes after worker/2, not before it as by name.
TEST_F(InputPipelinesTest, TheyAreInTheOrderOfTheWorkersNumbers) {
  FakeWorker& tenth = Add(10);
  FakeWorker& second = Add(2);
  RunFor(seconds(1));
  EXPECT_EQ(second.has["dataset"], Pipeline(0, 2));
  EXPECT_EQ(tenth.has["dataset"], Pipeline(1, 2));
}

TEST_F(InputPipelinesTest, ARestartChangesNothingForTheOthers) {
  FakeWorker& first = Add(0);
  FakeWorker& second = Add(1);
  RunFor(seconds(1));
  const std::vector<Pipeline> before = first.datasets;
  Kill(1);
  RunFor(seconds(30));
  Restart(1);
  RunFor(seconds(1));
  EXPECT_EQ(first.datasets, before);
  EXPECT_EQ(second.has["dataset"], Pipeline(1, 2));
  EXPECT_EQ(second.tables, 2);
}

TEST_F(InputPipelinesTest, OneThatStaysAwayDoesNotCountUntilItIsBack) {
  FakeWorker& first = Add(0);
  FakeWorker& second = Add(1);
  RunFor(seconds(1));
  Kill(0);
  RunFor(seconds(30));
  EXPECT_EQ(second.has["dataset"], Pipeline(1, 2));
  RunFor(seconds(40));
  EXPECT_EQ(second.has["dataset"], Pipeline(0, 1));
  Restart(0);
  RunFor(seconds(1));
  EXPECT_EQ(first.has["dataset"], Pipeline(0, 2));
  EXPECT_EQ(second.has["dataset"], Pipeline(1, 2));
}

// Nobody waits for a worker that never came, either.
TEST_F(InputPipelinesTest, OneThatNeverCameDoesNotCount) {
  FakeWorker& first = Add(0);
  Add(1).there = false;
  RunFor(seconds(70));
  EXPECT_EQ(first.has["dataset"], Pipeline(0, 1));
}

// The same process as before, which was away while everything changed.
TEST_F(InputPipelinesTest, OneThatComesBackIsToldWhatHasChanged) {
  FakeWorker& first = Add(0);
  FakeWorker& second = Add(1);
  RunFor(seconds(1));
  Kill(0);
  RunFor(seconds(1));
  Add(2);
  RunFor(seconds(1));
  EXPECT_EQ(second.has["dataset"], Pipeline(1, 3));
  first.there = true;
  Tell(0, TaskState::kHealthy);
  RunFor(seconds(1));
  EXPECT_EQ(first.has["dataset"], Pipeline(0, 3));
  EXPECT_EQ(first.tables, 1);
}

// Functions continue with the old pipeline while the new one is being made.
TEST_F(InputPipelinesTest, NobodyWaitsForANewPipeline) {
  FakeWorker& first = Add(0);
  RunFor(seconds(1));
  Event gate(executor());
  first.gate = &gate;
  Add(1).there = false;
  RunFor(seconds(1));
  const auto function = std::make_shared<const FunctionInfo>(
      FunctionInfo{.name = "f", .signature = "s", .options = {}});
  for (int i = 0; i < 10; ++i) {
    auto closure = std::make_shared<Closure>();
    closure->function = function;
    closure->resources = {dataset_};
    ASSERT_OK(dispatcher_.queue().Put(closure));
  }
  RunFor(seconds(1));
  EXPECT_EQ(first.runs, 10);
  EXPECT_EQ(first.has["dataset"], Pipeline(0, 1));
  first.gate = nullptr;
  gate.Set();
  RunFor(seconds(1));
  EXPECT_EQ(first.has["dataset"], Pipeline(0, 2));
}

}  // namespace
}  // namespace capstan

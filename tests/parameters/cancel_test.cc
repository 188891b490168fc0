// Calls that their caller calls off, wherever they are.
#include <gtest/gtest.h>

#include <algorithm>
#include <asio/this_coro.hpp>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/async/cancellation.h"
#include "client/lookup.h"
#include "parameters/helpers.h"
#include "testing/gate.h"
#include "transport/peer_channel.h"
#include "wire/shard_map_codec.h"

namespace capstan {
namespace {

using testing::BytesOf;
using testing::Dense;
using testing::Gate;
using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::kLarge;
using testing::ParameterJob;
using testing::Push;
using testing::Spec;
using testing::StatusIs;

constexpr float kPoison = 12345;

// Cancellations are used on the executor of the calls.
Task<> CancelOn(Cancellation& cancellation) {
  cancellation.Cancel();
  co_return;
}

// Pulls, and at once writes to the memory, which nobody else may then.
Task<absl::Status> PullAndPoison(ParameterClient& client, uint32_t variable,
                                 std::vector<float>& values,
                                 ReadOptions options) {
  PullItem item;
  item.variable = variable;
  item.into = BytesOf(values);
  const std::span<PullItem> items(&item, 1);
  absl::Status status = co_await client.Pull(items, options);
  std::ranges::fill(values, kPoison);
  co_return status;
}

// The same with memory that is gone when the call is: AddressSanitizer would
// see a later use.
Task<absl::Status> PullAndFree(ParameterClient& client, uint32_t variable,
                               size_t size, ReadOptions options) {
  std::vector<float> values(size);
  co_return co_await PullAndPoison(client, variable, values, options);
}
Task<absl::Status> GatherAndFree(ParameterClient& client, uint32_t variable,
                                 ReadOptions options) {
  const std::vector<int64_t> ids = {2, 0, 2};
  std::vector<float> values(ids.size());
  GatherItem item;
  item.variable = variable;
  item.ids = ids;
  item.into = BytesOf(values);
  const std::span<GatherItem> items(&item, 1);
  co_return co_await client.Gather(items, options);
}
Task<absl::Status> ReadAndFree(ParameterClient& client, uint32_t variable,
                               ReadOptions options) {
  std::vector<float> values(2);
  const MutableBytes into = BytesOf(values);
  co_return co_await client.ReadRows(variable, 0, 2, into, 0, options);
}
Task<absl::Status> UpdateAndFree(ParameterClient& client, uint32_t variable,
                                 size_t size, UpdateId id,
                                 UpdateOptions options) {
  std::vector<float> values(size, 1);
  const DenseItem item = Dense(variable, values);
  const std::span<const DenseItem> dense(&item, 1);
  const std::span<const RowsItem> rows;
  const absl::StatusOr<UpdateResult> summary =
      co_await client.Update(id, Operation::kGradient, dense, rows, options);
  co_return summary.status();
}

// A job whose only variable is "w", of two shards and in synchronous rounds.
class CancelTest : public ::testing::Test {
 protected:
  static constexpr size_t kSize = 4;

  void SetUp() override {
    VariableSpec spec = Spec("w", {kSize});
    spec.aggregation = Aggregation::kSum;
    spec.update = Sync{.replicas = 1};
    ASSERT_OK(job_.Create({spec}, FixedShards(2)));
    id_ = job_.Id("w");
    worker_ = &job_.NewClient();
    ASSERT_OK(job_.Run(*worker_, worker_->Refresh()));
  }

  uint64_t Requests() const { return job_.Requests(0) + job_.Requests(1); }
  void AwaitRequests(uint64_t count) const {
    while (Requests() < count) std::this_thread::yield();
  }
  void Cancel() { job_.Run(*worker_, CancelOn(cancellation_)); }

  // Replica 0 adds `value` to round `round`, which is complete with it.
  void CompleteRound(uint64_t round, float value) {
    UpdateId id = job_.NextStep();
    id.round = round;
    ASSERT_OK(
        Push(job_, job_.chief(), id, "w", std::vector<float>(kSize, -value)));
    RoundRequest commit;
    commit.fence = job_.fence();
    commit.round = round;
    commit.replicas = {0};
    ASSERT_OK(job_.Run(job_.chief(), job_.chief().Commit(commit)));
  }

  // A read that waits for the first round.
  ReadOptions Waiting() {
    ReadOptions options;
    options.round = 2;
    options.timeout = std::chrono::hours(1);
    options.cancellation = &cancellation_;
    return options;
  }

  // Outlives the calls, which end with the job.
  Cancellation cancellation_;
  ParameterJob job_{{.servers = 2}};
  ParameterClient* worker_ = nullptr;
  uint32_t id_ = 0;
};

TEST_F(CancelTest, BeforeItBegins) {
  Cancel();
  const uint64_t before = Requests();
  ReadOptions reads;
  reads.cancellation = &cancellation_;
  UpdateOptions updates;
  updates.cancellation = &cancellation_;
  const Duration time = std::chrono::seconds(30);
  Cancellation* const c = &cancellation_;
  const auto expect = [this](const char* what, auto task) {
    EXPECT_THAT(job_.Run(*worker_, std::move(task)),
                StatusIs(absl::StatusCode::kCancelled,
                         HasSubstr("cancelled before it was sent")))
        << what;
  };
  expect("Pull", PullAndFree(*worker_, id_, kSize, reads));
  expect("Gather", GatherAndFree(*worker_, id_, reads));
  expect("ReadRows", ReadAndFree(*worker_, id_, reads));
  expect("Update",
         UpdateAndFree(*worker_, id_, kSize, job_.NextStep(), updates));
  expect("Spec", worker_->Spec(id_, time, c));
  expect("Refresh", worker_->Refresh(time, c));
  expect("Install", worker_->Install(job_.map(), 1, 0, time, c));
  expect("Commit", worker_->Commit({}, updates));
  expect("Tick", worker_->Tick({}, updates));
  expect("SetWatermark", worker_->SetWatermark({}, updates));
  expect("Status", worker_->Status(0, time, c));
  expect("LookupRows", LookupRows(*worker_, id_, {1}, reads));
  // Even a call that would be refused for what it is.
  expect("a wrong size", PullAndFree(*worker_, id_, kSize + 1, reads));
  EXPECT_EQ(Requests(), before);
}

TEST_F(CancelTest, APullThatWaitsForARound) {
  std::vector<float> values(kSize);
  const uint64_t before = Requests();
  std::future<absl::Status> pull =
      job_.Start(*worker_, PullAndPoison(*worker_, id_, values, Waiting()));
  std::future<absl::Status> freed =
      job_.Start(*worker_, PullAndFree(*worker_, id_, kSize, Waiting()));
  std::future<absl::Status> gather =
      job_.Start(*worker_, GatherAndFree(*worker_, id_, Waiting()));
  AwaitRequests(before + 6);
  Cancel();
  EXPECT_THAT(pull.get(),
              StatusIs(absl::StatusCode::kCancelled,
                       HasSubstr("pull cancelled while waiting for inproc:")));
  EXPECT_THAT(freed.get(), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(gather.get(),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("gather")));
  // What they waited for comes, and is not for them.
  CompleteRound(1, 3);
  std::vector<float> later(kSize);
  ReadOptions options;
  options.round = 2;
  ASSERT_OK(job_.Run(*worker_, PullAndPoison(*worker_, id_, later, options)));
  EXPECT_EQ(values, std::vector<float>(kSize, kPoison));
  EXPECT_THAT(job_.Read("w"), IsOkAndHolds(std::vector<float>(kSize, 3)));
}

TEST_F(CancelTest, WhatIsKnownIsForgotten) {
  std::vector<float> values(kSize);
  ShardVersions have;
  PullItem item;
  item.variable = id_;
  item.into = BytesOf(values);
  item.have = &have;
  const std::span<PullItem> items(&item, 1);
  ASSERT_OK(job_.Run(*worker_, worker_->Pull(items)));
  EXPECT_EQ(have.versions.size(), 2u);
  const uint64_t before = Requests();
  std::future<absl::Status> pull =
      job_.Start(*worker_, worker_->Pull(items, Waiting()));
  AwaitRequests(before + 2);
  Cancel();
  EXPECT_THAT(pull.get(), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_TRUE(have.versions.empty());
}

TEST_F(CancelTest, ManyAtOnceAndNoOthers) {
  const uint64_t before = Requests();
  std::vector<std::future<absl::Status>> pulls;
  for (int i = 0; i < 20; ++i) {
    pulls.push_back(
        job_.Start(*worker_, PullAndFree(*worker_, id_, kSize, Waiting())));
  }
  ReadOptions options = Waiting();
  options.cancellation = nullptr;
  std::future<absl::Status> other =
      job_.Start(*worker_, PullAndFree(*worker_, id_, kSize, options));
  AwaitRequests(before + 42);
  Cancel();
  for (std::future<absl::Status>& pull : pulls) {
    EXPECT_THAT(pull.get(), StatusIs(absl::StatusCode::kCancelled));
  }
  EXPECT_EQ(other.wait_for(std::chrono::seconds(0)),
            std::future_status::timeout);
  CompleteRound(1, 3);
  EXPECT_OK(other.get());
}

// Which nobody has heard of, so that newer and newer maps are asked for.
TEST_F(CancelTest, WhileWaitingForANewerMap) {
  const uint64_t before = Requests();
  std::future<absl::StatusOr<VariableSpec>> spec = job_.Start(
      *worker_, worker_->Spec(99, std::chrono::hours(1), &cancellation_));
  std::future<absl::Status> pull =
      job_.Start(*worker_, PullAndFree(*worker_, 99, kSize, Waiting()));
  // Each has asked and slept.
  AwaitRequests(before + 4);
  Cancel();
  const auto is_cancelled = StatusIs(absl::StatusCode::kCancelled,
                                     HasSubstr("cancelled while waiting for"));
  EXPECT_THAT(spec.get(), is_cancelled);
  EXPECT_THAT(pull.get(), is_cancelled);
}

// Answers requests for the shard map, and all others when `gate` opens: with
// bytes, if some were asked for.
class SlowService final : public Service {
 public:
  explicit SlowService(const ShardMap& map) : map_(EncodeShardMap(map)) {}

  Task<ServerReply> Serve(ServerCall& call) override {
    ServerReply reply;
    if (call.method() == Method::kShardMap) {
      reply.body = map_;
      co_return reply;
    }
    const Executor executor = co_await asio::this_coro::executor;
    co_await gate.Pass(executor);
    if (!call.attachment_sizes().empty()) {
      const absl::StatusOr<Buffer> all = co_await call.ReceiveAll();
      reply.status = all.status();
      ++served;
      co_return reply;
    }
    const auto bytes =
        std::make_shared<std::vector<std::byte>>(call.reply_limit());
    reply.attachments = {Bytes(*bytes)};
    reply.owner = bytes;
    ++served;
    co_return reply;
  }

  Gate gate;
  std::atomic<size_t> served = 0;  // of those that waited for the gate

 private:
  const std::string map_;
};

ShardMap OneServerMap(int64_t size) {
  return *AddVariables(*ShardMap::Make(1, 0, 1, {}), {Spec("w", {size})},
                       FixedShards(1));
}

// One server that answers late, or is not there, and a client, each on a thread
// of its own.
class SlowServerTest : public ::testing::Test {
 protected:
  static constexpr size_t kSize = 4 << 20;  // 16 MiB

  ~SlowServerTest() override {
    client_thread_.Stop();
    server_thread_.Stop();
  }

  void StartServer() {
    ServerOptions options;
    options.self = Identity("ps");
    absl::StatusOr<std::unique_ptr<Server>> server =
        Server::Start(clock_, network_, logger_, service_,
                      {server_thread_.executor()}, "inproc:ps", options);
    ASSERT_OK(server);
    server_ = *std::move(server);
    ASSERT_OK(Run(client_.Refresh()));
  }

  static Hello Identity(const std::string& role) {
    Hello hello;
    hello.version = "test";
    hello.job = "job";
    hello.role = role;
    hello.incarnation = 1;
    return hello;
  }

  std::vector<std::unique_ptr<Channel>> Channels() {
    ChannelOptions options;
    options.self = Identity("worker");
    options.address = "inproc:ps";
    options.expected_task = "ps/0";
    std::vector<std::unique_ptr<Channel>> channels;
    channels.push_back(NewPeerChannel(clock_, network_, logger_, Random(1),
                                      client_thread_.executor(), options));
    return channels;
  }

  template <typename T>
  std::future<T> Start(Task<T> task) {
    return StartOn(client_thread_.executor(), std::move(task));
  }
  template <typename T>
  T Run(Task<T> task) {
    return RunOn(client_thread_.executor(), std::move(task));
  }

  void AwaitHeld(size_t count) const {
    while (service_.gate.waiting() < count) std::this_thread::yield();
  }

  // Lets the server do what it was asked for, when nobody wants it any more.
  void ServeHeld(size_t count) {
    service_.gate.Open();
    while (service_.served < count) std::this_thread::yield();
  }

  Cancellation cancellation_;
  RealClock clock_;
  Logger logger_;
  InprocNetwork network_;
  const ShardMap map_ = OneServerMap(kSize);
  const uint32_t id_ = map_.Find("w")->id;
  SlowService service_{map_};
  IoThread server_thread_;
  std::unique_ptr<Server> server_;
  IoThread client_thread_;
  ParameterClient client_{clock_, client_thread_.executor(), Channels(),
                          Random(1)};
};

TEST_F(SlowServerTest, AReadThatIsNotAnswered) {
  StartServer();
  ReadOptions options;
  options.cancellation = &cancellation_;
  std::vector<float> values(kSize);
  std::future<absl::Status> pull =
      Start(PullAndPoison(client_, id_, values, options));
  std::future<absl::Status> freed =
      Start(PullAndFree(client_, id_, kSize, options));
  std::future<absl::Status> gather =
      Start(GatherAndFree(client_, id_, options));
  std::future<absl::Status> rows = Start(ReadAndFree(client_, id_, options));
  std::future<absl::StatusOr<StoreReport>> report =
      Start(client_.Status(0, std::chrono::hours(1), &cancellation_));
  AwaitHeld(5);
  Run(CancelOn(cancellation_));
  const absl::Status status = pull.get();
  EXPECT_THAT(
      status,
      StatusIs(
          absl::StatusCode::kCancelled,
          HasSubstr("pull cancelled while waiting for ps/0 at inproc:ps")));
  EXPECT_EQ(TaskOf(status), "ps/0");
  for (std::future<absl::Status>* call : {&freed, &gather, &rows}) {
    EXPECT_THAT(call->get(),
                StatusIs(absl::StatusCode::kCancelled, HasSubstr("ps/0")));
  }
  EXPECT_THAT(report.get(),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("ps/0")));
  // The answers come after all; the connection is as good as before.
  ServeHeld(5);
  ASSERT_OK(Run(client_.Refresh()));
  EXPECT_TRUE(
      std::ranges::all_of(values, [](float v) { return v == kPoison; }));
}

// Which is still being sent, as the server takes it only when the gate opens.
TEST_F(SlowServerTest, AnUpdateOnItsWay) {
  StartServer();
  UpdateId id;
  id.fence = {.generation = 1, .term = 1};
  id.step = 1;
  UpdateOptions options;
  options.cancellation = &cancellation_;
  std::future<absl::Status> update =
      Start(UpdateAndFree(client_, id_, kSize, id, options));
  AwaitHeld(1);
  Run(CancelOn(cancellation_));
  EXPECT_THAT(update.get(),
              StatusIs(absl::StatusCode::kCancelled,
                       HasSubstr("update cancelled while waiting for ps/0")));
  ServeHeld(1);
  ASSERT_OK(Run(client_.Refresh()));
}

TEST_F(SlowServerTest, AServerThatIsNotThere) {
  std::future<absl::Status> refresh =
      Start(client_.Refresh(std::chrono::hours(1), &cancellation_));
  UpdateOptions options;
  options.timeout = std::chrono::hours(1);
  options.cancellation = &cancellation_;
  std::future<absl::Status> tick = Start(client_.Tick({}, options));
  Run(CancelOn(cancellation_));
  for (std::future<absl::Status>* call : {&refresh, &tick}) {
    const absl::Status status = call->get();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kCancelled,
                                 HasSubstr("cancelled while waiting for ps/0 "
                                           "at inproc:ps")));
    EXPECT_EQ(TaskOf(status), "ps/0");
  }
}

// It was cut off in the middle, and the server knows nothing of it.
TEST(CancelUpdateTest, CanBeRepeatedUnderTheSameId) {
  Cancellation cancellation;
  ParameterJob job;
  ASSERT_OK(job.Create({Spec("w", {kLarge})}));
  ParameterClient& chief = job.chief();
  const UpdateId id = job.NextStep();
  UpdateOptions options;
  options.cancellation = &cancellation;
  job.HoldAfter(2 << 20);
  std::future<absl::Status> update =
      job.Start(chief, UpdateAndFree(chief, job.Id("w"), kLarge, id, options));
  job.AwaitHeld();
  job.Run(chief, CancelOn(cancellation));
  // The write under way ends; no other follows.
  job.Release();
  EXPECT_THAT(update.get(), StatusIs(absl::StatusCode::kCancelled));
  ASSERT_OK(job.Run(chief, UpdateAndFree(chief, job.Id("w"), kLarge, id, {})));
  EXPECT_THAT(job.Read("w"), IsOkAndHolds(std::vector<float>(kLarge, -1)));
}

}  // namespace
}  // namespace capstan

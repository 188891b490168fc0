// Reading and updating over a slow link: they take as long as their bytes move.
#include <optional>

#include "parameters/helpers.h"
#include "simulation/sim_world.h"
#include "transport/peer_channel.h"

namespace capstan::testing {
namespace {

using std::chrono::seconds;

// A variable of 40 MiB, and 1 MiB/s.
constexpr int64_t kElements = 10 << 20;
constexpr uint64_t kBytesPerSecond = 1 << 20;
constexpr seconds kTransfer(40);

constexpr char kAddress[] = "sim:ps:7077";

Hello HelloOf(std::string role) {
  Hello hello;
  hello.version = "1";
  hello.job = "slow";
  hello.role = std::move(role);
  return hello;
}

Task<> Serve(SimNode& node) {
  ProbeService probe;
  ParameterService parameters(node.clock(), StoreOptions(), probe);
  ServerOptions options;
  options.self = HelloOf("ps");
  std::vector<Executor> executors = {node.executor()};
  const absl::StatusOr<std::unique_ptr<Server>> server =
      Server::Start(node.clock(), node.network(), node.logger(), parameters,
                    std::move(executors), kAddress, std::move(options));
  EXPECT_OK(server);
  const std::unique_ptr<Timer> timer = node.clock().NewTimer(node.executor());
  co_await timer->SleepUntil(kNever);
}

class SlowLinkTest : public ::testing::Test {
 protected:
  SlowLinkTest()
      : world_(1, Slow()),
        server_(world_.AddNode("ps")),
        worker_(world_.AddNode("worker")) {
    world_.Start(server_, Serve);
    world_.Start(worker_);
    ChannelOptions options;
    options.self = HelloOf("chief");
    options.address = kAddress;
    options.expected_task = "ps/0";
    std::vector<std::unique_ptr<Channel>> channels;
    channels.push_back(NewPeerChannel(worker_.clock(), worker_.network(),
                                      worker_.logger(), Random(1),
                                      worker_.executor(), std::move(options)));
    client_ = std::make_unique<ParameterClient>(
        worker_.clock(), worker_.executor(), std::move(channels), Random(2));
    const absl::StatusOr<ShardMap> map =
        AddVariables(*ShardMap::Make(1, 0, 1, {}), {Spec("w", {kElements})},
                     DefaultPartitioner(1));
    EXPECT_OK(map);
    EXPECT_OK(Run(client_->Install(*map, 1, 0)));
    id_ = (*client_->Find("w"))->id;
  }
  ~SlowLinkTest() override { world_.Crash(worker_, SimCrash::kProcess); }

  static SimWorldOptions Slow() {
    SimWorldOptions options;
    options.network.bytes_per_second = kBytesPerSecond;
    return options;
  }

  template <typename T>
  T Run(Task<T> task) {
    std::future<T> result = StartOn(worker_.executor(), std::move(task));
    const MonotonicTime start = world_.clock().Now();
    const auto ready = [&] {
      return result.wait_for(seconds(0)) == std::future_status::ready;
    };
    EXPECT_EQ(world_.RunUntil(ready, start + std::chrono::hours(1)),
              SimWorld::Result::kDone);
    took_ = world_.clock().Now() - start;
    return result.get();
  }

  absl::Status Pull(std::vector<float>& values, ReadOptions options = {}) {
    PullItem item;
    item.variable = id_;
    item.into = BytesOf(values);
    return Run(client_->Pull(std::span(&item, 1), options));
  }

  SimWorld world_;
  SimNode& server_;
  SimNode& worker_;
  std::unique_ptr<ParameterClient> client_;
  uint32_t id_ = 0;
  Duration took_ = Duration::zero();  // of the last Run
};

TEST_F(SlowLinkTest, AnUpdateAndAPullTakeLongerThanTheTimeout) {
  const std::vector<float> gradient(kElements, -1.0F);
  const DenseItem item = Dense(id_, gradient);
  UpdateId id;
  id.fence = {.generation = 1, .term = 1};
  id.step = 1;
  const absl::StatusOr<UpdateResult> result = Run(client_->Update(
      id, Operation::kGradient, std::span(&item, 1), {}, UpdateOptions()));
  ASSERT_OK(result);
  EXPECT_EQ(result->applied, 1u);
  EXPECT_GE(took_, kTransfer);
  std::vector<float> values(kElements);
  EXPECT_OK(Pull(values));
  EXPECT_GE(took_, kTransfer);
  EXPECT_EQ(values, std::vector<float>(kElements, 1.0F));
}

TEST_F(SlowLinkTest, APullKeepsToItsLimit) {
  std::vector<float> values(kElements);
  ReadOptions options;
  options.limit = seconds(10);
  EXPECT_THAT(Pull(values, options),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_EQ(took_, options.limit);
}

// The connection is lost after 35 s: the pull begins again.
TEST_F(SlowLinkTest, APullSurvivesALostConnection) {
  world_.clock().ScheduleAfter(seconds(35), [this] {
    EXPECT_GT(world_.BreakConnections(server_, worker_), 0u);
  });
  std::vector<float> values(kElements, 1.0F);
  EXPECT_OK(Pull(values));
  EXPECT_GE(took_, kTransfer + seconds(35));
  EXPECT_EQ(values, std::vector<float>(kElements, 0.0F));
}

// A server that stops is noticed, however long the transfer may take.
TEST_F(SlowLinkTest, AServerThatStopsIsNoticed) {
  world_.clock().ScheduleAfter(seconds(35), [this] { world_.Hang(server_); });
  std::vector<float> values(kElements);
  const absl::Status status = Pull(values);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(TaskOf(status), "ps/0") << status;
  EXPECT_LT(took_, seconds(35 + 65));
  world_.Resume(server_);
}

}  // namespace
}  // namespace capstan::testing

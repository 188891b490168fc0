// The simulated network keeps the contract of a transport, whatever the seed.
#include <list>

#include "simulation/sim_world.h"
#include "testing/pattern.h"
#include "testing/status_matchers.h"
#include "testing/transport_contract.h"

namespace capstan::testing {
namespace {

using ::testing::HasSubstr;

// More virtual time than any test needs.
constexpr std::chrono::hours kPatience(1);

class SimulatedWorld final : public TransportWorld {
 public:
  explicit SimulatedWorld(uint64_t seed, SimWorldOptions options = {})
      : world_(seed, options),
        server_(world_.AddNode("server")),
        client_(world_.AddNode("client")) {
    world_.Start(server_);
    world_.Start(client_);
  }

  Clock& clock(Side side) override { return node(side).clock(); }
  Network& network(Side side) override { return node(side).network(); }
  std::vector<Executor> executors(Side side) override {
    return {node(side).executor()};
  }
  std::string NewAddress() override {
    return "sim:server:" + std::to_string(++port_);
  }
  bool simulated() const override { return true; }

  [[nodiscard]] bool RunUntil(const std::function<bool()>& done) override {
    return world_.RunUntil(done, world_.clock().Now() + kPatience) ==
           SimWorld::Result::kDone;
  }

  void CrashServer() override {
    world_.Crash(server_, SimCrash::kProcess);
    world_.Restart(server_);
  }

  SimWorld& world() { return world_; }
  SimNode& node(Side side) { return side == Side::kServer ? server_ : client_; }

 private:
  SimWorld world_;
  SimNode& server_;
  SimNode& client_;
  int port_ = 0;
};

template <uint64_t kSeed>
std::unique_ptr<TransportWorld> MakeSim() {
  return std::make_unique<SimulatedWorld>(kSeed);
}

INSTANTIATE_TEST_SUITE_P(Sim, TransportContract, ::testing::Values(MakeSim<1>));

// What only a simulation can do.
class SimContractTest : public ::testing::Test, public TransportHarness {
 protected:
  explicit SimContractTest(SimWorldOptions options = {})
      : TransportHarness(std::make_unique<SimulatedWorld>(1, options)),
        simulated_(static_cast<SimulatedWorld&>(world())) {}

  SimNode& node(Side side) { return simulated_.node(side); }
  SimWorld& sim() { return simulated_.world(); }

  // With the keepalive of production.
  std::unique_ptr<TestClient> StartDefault() {
    ServerOptions server = server_options();
    server.keepalive = KeepaliveOptions();
    StartServer(server);
    ChannelOptions client = client_options();
    client.keepalive = KeepaliveOptions();
    return NewClient(client);
  }

 private:
  SimulatedWorld& simulated_;
};

// In virtual time "within 2 s" can be asserted to the nanosecond.
TEST_F(SimContractTest, HungServerIsReportedWithinTwoSeconds) {
  const auto client = StartDefault();
  StartedCall call = client->Start({.method = kHold, .body = "never"});
  AwaitHeld("never");
  sim().Hang(node(Side::kServer));
  const MonotonicTime hung = sim().clock().Now();
  EXPECT_THAT(call.Get(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_LE(sim().clock().Now() - hung, std::chrono::seconds(2));
  sim().Resume(node(Side::kServer));
  EXPECT_OK(client->Call(kEcho, "again"));
  // A shutdown waits for what is being served.
  service().gate("never").Open();
}

TEST_F(SimContractTest, HungClientIsReportedWithinTwoSeconds) {
  const auto client = StartDefault();
  StartedCall call = client->Start({.method = kUntilCancelled});
  Await([this] { return service().started() == 1; });
  sim().Hang(node(Side::kClient));
  const MonotonicTime hung = sim().clock().Now();
  Await([this] { return service().cancelled() == 1; });
  EXPECT_LE(sim().clock().Now() - hung, std::chrono::seconds(2));
  EXPECT_EQ(counters().stalled, 1u);
  sim().Resume(node(Side::kClient));
  EXPECT_THAT(call.Get(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_OK(client->Call(kEcho, "again"));
}

TEST_F(SimContractTest, LossOfPowerIsReportedWithinTwoSeconds) {
  const auto client = StartDefault();
  StartedCall call = client->Start({.method = kHold, .body = "never"});
  AwaitHeld("never");
  sim().Crash(node(Side::kServer), SimCrash::kMachine);
  const MonotonicTime crashed = sim().clock().Now();
  EXPECT_THAT(call.Get(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_LE(sim().clock().Now() - crashed, std::chrono::seconds(2));
  sim().Restart(node(Side::kServer));
  const std::string address = this->address();
  ForgetServer();
  StartServer(server_options(), address);
  EXPECT_OK(client->Call(kEcho, "again"));
}

// One direction is enough to lose a peer.
TEST_F(SimContractTest, OneWayPartitionIsReportedAndHeals) {
  const auto client = StartDefault();
  for (const auto& [from, to] : {std::pair(Side::kServer, Side::kClient),
                                 std::pair(Side::kClient, Side::kServer)}) {
    StartedCall call = client->Start({.method = kUntilCancelled});
    const int before = service().cancelled();
    Await([this] { return service().started() > service().finished(); });
    sim().Partition(node(from), node(to));
    EXPECT_THAT(call.Get(), StatusIs(absl::StatusCode::kUnavailable));
    Await([&] { return service().cancelled() > before; });
    sim().Heal(node(from), node(to));
    EXPECT_OK(client->Call(kEcho, "again"));
  }
}

// A link on which 40 MiB take longer than the default time-out of a call.
class SlowLinkTest : public SimContractTest {
 protected:
  SlowLinkTest() : SimContractTest(Slow()) {}

  static SimWorldOptions Slow() {
    SimWorldOptions options;
    options.network.bytes_per_second = kMiB;
    return options;
  }
  static constexpr std::chrono::seconds kTransfer{40};

  // Begins to read into memory_.
  StartedCall StartRead(TestClient& client, CallOptions options = {}) {
    std::vector<std::byte>& memory = memory_.emplace_back(40 * kMiB);
    CallRequest request;
    request.method = kGenerate;
    request.body = "1 " + std::to_string(memory.size());
    request.options = std::move(options);
    request.options.receive_into = {MutableBytes(memory)};
    return client.Start(std::move(request));
  }

  void RunFor(Duration duration) {
    const MonotonicTime end = sim().clock().Now() + duration;
    sim().RunUntil([] { return false; }, end);
  }
  Duration Since(MonotonicTime start) { return sim().clock().Now() - start; }

  std::list<std::vector<std::byte>> memory_;
};

TEST_F(SlowLinkTest, AnAnswerTakesAsLongAsItsBytesMove) {
  const auto client = StartAndConnect();
  const MonotonicTime start = sim().clock().Now();
  EXPECT_OK(StartRead(*client).Get());
  EXPECT_TRUE(IsPattern(0, memory_.front()));
  EXPECT_GE(Since(start), kTransfer);
}

TEST_F(SlowLinkTest, ARequestTakesAsLongAsItsBytesMove) {
  const auto client = StartAndConnect();
  const std::vector<std::byte> data = Pattern(0, 40 * kMiB);
  const absl::StatusOr<Reply> reply =
      client->Call(kDescribe, "", {Bytes(data)});
  ASSERT_OK(reply);
  // The server still has all of its time, too.
  const std::vector<std::string> words = SplitWords(reply->body);
  ASSERT_EQ(words.size(), 5u);
  EXPECT_GT(std::stoll(words[3]), 29'000'000);
}

// It gets nothing for longer than its time-out: the lane is in use.
TEST_F(SlowLinkTest, ACallWaitsForTheOneBeforeIt) {
  const auto client = StartAndConnect();
  StartedCall first = StartRead(*client);
  StartedCall second = StartRead(*client);
  EXPECT_OK(first.Get());
  EXPECT_OK(second.Get());
}

TEST_F(SlowLinkTest, ALimitInAllHoldsWhileBytesMove) {
  const auto client = StartAndConnect();
  CallOptions options;
  options.limit = std::chrono::seconds(20);
  const MonotonicTime start = sim().clock().Now();
  EXPECT_THAT(StartRead(*client, options).Get(),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       HasSubstr("no answer within 20 s")));
  EXPECT_EQ(Since(start), options.limit);
}

TEST_F(SlowLinkTest, ATransferThatStopsIsGivenUp) {
  const auto client = StartAndConnect();
  CallOptions options;
  options.timeout = std::chrono::seconds(5);
  StartedCall call = StartRead(*client, options);
  RunFor(std::chrono::seconds(20));
  EXPECT_FALSE(call.done());
  // The keepalive of the test's options would take longer to see it.
  sim().Partition(node(Side::kServer), node(Side::kClient));
  const MonotonicTime stopped = sim().clock().Now();
  EXPECT_THAT(call.Get(), StatusIs(absl::StatusCode::kDeadlineExceeded,
                                   HasSubstr("no progress for 5 s")));
  EXPECT_LE(Since(stopped), options.timeout);
  sim().Heal(node(Side::kServer), node(Side::kClient));
}

TEST_F(SlowLinkTest, AServiceThatTakesNothingIsGivenUp) {
  const auto client = StartAndConnect();
  const std::vector<std::byte> data = Pattern(0, 40 * kMiB);
  EXPECT_THAT(client->Call(kHoldThenEcho, "never", {Bytes(data)}),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  service().gate("never").Open();
}

// Bytes that other calls move are not progress for one that hangs in the
// service: the server says so, as the caller cannot tell.
TEST_F(SlowLinkTest, AServiceThatHangsIsGivenUpWhileOthersMove) {
  const auto client = StartAndConnect();
  StartedCall other = StartRead(*client);
  const MonotonicTime start = sim().clock().Now();
  CallOptions options = ReplyUpTo(kMiB);
  options.timeout = std::chrono::seconds(5);
  EXPECT_THAT(client->Call(kUntilCancelled, "", {}, options),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_LE(Since(start), std::chrono::seconds(10));
  EXPECT_OK(other.Get());
}

}  // namespace
}  // namespace capstan::testing

// The simulated network keeps the contract of a transport, whatever the seed.
#include "testing/status_matchers.h"
#include "testing/transport_contract.h"
#include "transport/sim/sim_world.h"

namespace capstan::testing {
namespace {

// More virtual time than any test needs.
constexpr std::chrono::hours kPatience(1);

class SimulatedWorld final : public TransportWorld {
 public:
  explicit SimulatedWorld(uint64_t seed)
      : world_(seed),
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
  SimContractTest()
      : TransportHarness(std::make_unique<SimulatedWorld>(1)),
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
  PendingCall call = client->Start({.method = kHold, .body = "never"});
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
  PendingCall call = client->Start({.method = kUntilCancelled});
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
  PendingCall call = client->Start({.method = kHold, .body = "never"});
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
    PendingCall call = client->Start({.method = kUntilCancelled});
    const int before = service().cancelled();
    Await([this] { return service().started() > service().finished(); });
    sim().Partition(node(from), node(to));
    EXPECT_THAT(call.Get(), StatusIs(absl::StatusCode::kUnavailable));
    Await([&] { return service().cancelled() > before; });
    sim().Heal(node(from), node(to));
    EXPECT_OK(client->Call(kEcho, "again"));
  }
}

}  // namespace
}  // namespace capstan::testing

#include "simulation/sim_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <asio/post.hpp>
#include <asio/use_awaitable.hpp>
#include <chrono>
#include <memory>
#include <sstream>
#include <string>

#include "base/bytes.h"
#include "testing/alive.h"

namespace capstan {
namespace {

using testing::Alive;

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

// What the two programs below report to the test.
struct Report {
  int server_starts = 0;
  int alive = 0;
  int echoes = 0;
  absl::Status error;
  MonotonicTime error_time;
};

Task<> EchoBytes(std::unique_ptr<Stream> stream, Report& report) {
  Alive alive(report.alive);
  std::array<std::byte, 16> buffer;
  while (true) {
    std::array<MutableBytes, 1> into = {MutableBytes(buffer)};
    std::span<const MutableBytes> into_views(into);
    absl::StatusOr<size_t> got = co_await stream->ReadSome(into_views);
    if (!got.ok()) co_return;
    std::array<Bytes, 1> from = {Bytes(buffer).first(*got)};
    std::span<const Bytes> from_views(from);
    absl::StatusOr<size_t> put = co_await stream->WriteSome(from_views);
    if (!put.ok()) co_return;
  }
}

Task<> EchoServer(SimNode& node, Report& report) {
  Alive alive(report.alive);
  ++report.server_starts;
  Executor executor = node.executor();
  auto acceptor = node.network().Listen(executor, "sim:server:1");
  while (acceptor.ok()) {
    auto stream = co_await (*acceptor)->Accept(executor);
    if (stream.ok()) Spawn(executor, EchoBytes(*std::move(stream), report));
  }
}

// Repeatedly sends a byte and waits for it to come back.
Task<> EchoClient(SimNode& node, Report& report) {
  Executor executor = node.executor();
  std::string address = "sim:server:1";
  auto stream = co_await node.network().Connect(executor, address, kNever);
  std::array<std::byte, 1> byte = {std::byte{42}};
  std::unique_ptr<Timer> timer = node.clock().NewTimer(executor);
  report.error = stream.status();
  while (report.error.ok()) {
    std::array<Bytes, 1> from = {Bytes(byte)};
    std::span<const Bytes> from_views(from);
    absl::StatusOr<size_t> put = co_await (*stream)->WriteSome(from_views);
    report.error = put.status();
    if (!put.ok()) break;
    std::array<MutableBytes, 1> into = {MutableBytes(byte)};
    std::span<const MutableBytes> into_views(into);
    absl::StatusOr<size_t> got = co_await (*stream)->ReadSome(into_views);
    report.error = got.status();
    if (!got.ok()) break;
    ++report.echoes;
    MonotonicTime pause = node.clock().Now() + milliseconds(10);
    co_await timer->SleepUntil(pause);
  }
  report.error_time = node.clock().Now();
}

class SimWorldTest : public ::testing::Test {
 protected:
  SimWorldTest() {
    world_.Start(server_,
                 [this](SimNode& node) { return EchoServer(node, report_); });
    world_.RunFor(milliseconds(1));
    StartClient();
    world_.RunFor(seconds(10));
    EXPECT_GT(report_.echoes, 100);
    EXPECT_EQ(report_.alive, 2);
  }

  void StartClient() {
    world_.Start(client_,
                 [this](SimNode& node) { return EchoClient(node, report_); });
  }

  Report report_;
  SimWorld world_{7};
  SimNode& server_ = world_.AddNode("server");
  SimNode& client_ = world_.AddNode("client");
};

TEST_F(SimWorldTest, CrashDestroysCoroutinesAndResetsConnections) {
  world_.Crash(server_, SimCrash::kProcess);
  EXPECT_EQ(report_.alive, 0);
  EXPECT_FALSE(server_.running());
  const MonotonicTime crashed = world_.clock().Now();
  world_.RunFor(minutes(1));
  EXPECT_EQ(report_.error.code(), absl::StatusCode::kUnavailable);
  EXPECT_LT(report_.error_time - crashed, seconds(1));
}

TEST_F(SimWorldTest, CrashOfTheMachineIsNoticedWhenItIsBack) {
  world_.Crash(server_, SimCrash::kMachine);
  world_.RunFor(hours(1));
  EXPECT_TRUE(report_.error.ok());
  world_.Restart(server_);
  world_.RunFor(minutes(1));
  EXPECT_EQ(report_.server_starts, 2);
  EXPECT_EQ(server_.incarnation(), 2u);
  EXPECT_EQ(report_.error.code(), absl::StatusCode::kUnavailable);
}

TEST_F(SimWorldTest, RestartedServerServesAgain) {
  world_.Crash(server_, SimCrash::kProcess);
  world_.RunFor(seconds(1));
  world_.Restart(server_);
  world_.RunFor(seconds(1));
  world_.Crash(client_, SimCrash::kProcess);
  StartClient();
  const int before = report_.echoes;
  world_.RunFor(seconds(10));
  EXPECT_GT(report_.echoes, before + 100);
  EXPECT_TRUE(report_.error.ok());
}

TEST_F(SimWorldTest, HungNodeGoesOnWhereItWas) {
  world_.Hang(server_);
  world_.RunFor(seconds(1));
  const int before = report_.echoes;
  world_.RunFor(minutes(1));
  EXPECT_EQ(report_.echoes, before);
  EXPECT_TRUE(report_.error.ok());
  world_.Resume(server_);
  world_.RunFor(seconds(10));
  EXPECT_GT(report_.echoes, before + 100);
}

TEST_F(SimWorldTest, HungNodeCanCrash) {
  world_.Hang(server_);
  world_.RunFor(seconds(1));
  world_.Crash(server_, SimCrash::kMachine);
  EXPECT_EQ(report_.alive, 0);
  world_.Restart(server_);
  EXPECT_FALSE(server_.hung());
}

TEST_F(SimWorldTest, NodesHaveWallClocksOfTheirOwn) {
  server_.clock().set_wall_error(-hours(1));
  EXPECT_EQ(client_.clock().WallNow() - server_.clock().WallNow(), hours(1));
  EXPECT_EQ(client_.clock().Now(), server_.clock().Now());
}

TEST_F(SimWorldTest, RandomNumbersDependOnNodeIncarnationAndName) {
  Random first = server_.NewRandom("a");
  Random again = server_.NewRandom("a");
  Random other_name = server_.NewRandom("b");
  Random other_node = client_.NewRandom("a");
  world_.Crash(server_, SimCrash::kProcess);
  world_.Restart(server_);
  Random other_life = server_.NewRandom("a");
  const uint64_t number = first.NextU64();
  EXPECT_EQ(again.NextU64(), number);
  EXPECT_NE(other_name.NextU64(), number);
  EXPECT_NE(other_node.NextU64(), number);
  EXPECT_NE(other_life.NextU64(), number);
}

Task<> Forever(SimNode& node) {
  std::unique_ptr<Timer> timer = node.clock().NewTimer(node.executor());
  while (true) {
    MonotonicTime now = node.clock().Now();
    co_await timer->SleepUntil(now);
    co_await asio::post(node.executor(), asio::use_awaitable);
  }
}

TEST(SimWorldRunTest, SaysWhyItStopped) {
  SimWorld world(1);
  const MonotonicTime start = world.clock().Now();
  EXPECT_EQ(world.RunUntil([] { return true; }, kNever),
            SimWorld::Result::kDone);
  EXPECT_EQ(world.RunUntil([] { return false; }, kNever),
            SimWorld::Result::kIdle);
  EXPECT_EQ(world.RunFor(seconds(2)), SimWorld::Result::kDeadline);
  EXPECT_EQ(world.clock().Now() - start, seconds(2));
  SimNode& node = world.AddNode("busy");
  world.Start(node, [](SimNode& busy) { return Forever(busy); });
  EXPECT_EQ(world.RunFor(seconds(2)), SimWorld::Result::kLivelock);
}

struct Outcome {
  uint64_t digest;
  uint64_t events;
  std::string text;
};

// A run with every kind of fault.
Outcome RunFaults(uint64_t seed) {
  std::ostringstream text;
  Report report;
  SimWorldOptions options;
  options.trace_text = &text;
  SimWorld world(seed, options);
  SimNode& server = world.AddNode("server");
  SimNode& client = world.AddNode("client");
  world.Start(server, [&](SimNode& node) { return EchoServer(node, report); });
  world.Start(client, [&](SimNode& node) { return EchoClient(node, report); });
  world.RunFor(seconds(1));
  world.Hang(server);
  world.RunFor(milliseconds(100));
  world.Resume(server);
  world.Partition(client, server);
  world.RunFor(milliseconds(100));
  world.Heal(client, server);
  world.SetDelay(server, client, milliseconds(30));
  world.RunFor(seconds(1));
  world.BreakConnections(client, server);
  world.RunFor(seconds(1));
  world.Crash(server, SimCrash::kMachine);
  world.Restart(server);
  world.Crash(client, SimCrash::kProcess);
  world.Restart(client);
  world.RunFor(seconds(1));
  return {world.trace().Digest(), world.trace().events(), text.str()};
}

TEST(SimWorldTraceTest, SameSeedSameTrace) {
  const Outcome first = RunFaults(3);
  const Outcome again = RunFaults(3);
  const Outcome other = RunFaults(4);
  EXPECT_EQ(first.digest, again.digest);
  EXPECT_EQ(first.text, again.text);
  EXPECT_NE(first.digest, other.digest);
  EXPECT_GT(first.events, 100u);
}

TEST(SimWorldTraceTest, TextNamesWhatHappened) {
  const std::string text = RunFaults(3).text;
  for (const char* what : {"listen", "connect", "send", "receive", "hang",
                           "resume", "block", "delay", "break", "crash"}) {
    EXPECT_THAT(text, HasSubstr(what));
  }
}

// The trace of the echo programs for one seed. It must be the same in every
// build and with every compiler. If a change to the simulator or to base/random
// changes it, put the new number here.
TEST(SimWorldTraceTest, TraceIsTheSameInEveryBuild) {
  EXPECT_EQ(RunFaults(42).digest, 9271337384576647341u);
}

}  // namespace
}  // namespace capstan

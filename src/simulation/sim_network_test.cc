#include "simulation/sim_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "simulation/sim_world.h"

namespace capstan {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr char kAddress[] = "sim:server:7";

// One side of a test: its objects, and what happened to them.
struct Side {
  std::unique_ptr<Acceptor> acceptor;
  std::unique_ptr<Stream> stream;
  absl::Status status;
  std::string received;
  std::optional<size_t> last;
};

Task<> AcceptOne(SimNode& node, Side& side) {
  absl::StatusOr<std::unique_ptr<Acceptor>> acceptor =
      node.network().Listen(node.executor(), kAddress);
  if (!acceptor.ok()) {
    side.status = acceptor.status();
    co_return;
  }
  side.acceptor = *std::move(acceptor);
  Executor executor = node.executor();
  absl::StatusOr<std::unique_ptr<Stream>> stream =
      co_await side.acceptor->Accept(executor);
  side.status = stream.status();
  if (stream.ok()) side.stream = *std::move(stream);
}

Task<> ConnectOne(SimNode& node, Side& side, MonotonicTime deadline) {
  std::string address = kAddress;
  Executor executor = node.executor();
  absl::StatusOr<std::unique_ptr<Stream>> stream =
      co_await node.network().Connect(executor, address, deadline);
  side.status = stream.status();
  if (stream.ok()) side.stream = *std::move(stream);
}

Task<> WriteAll(Side& side, std::string text) {
  Bytes rest = AsBytes(text);
  while (!rest.empty()) {
    std::array<Bytes, 2> views = {rest.first(rest.size() / 2),
                                  rest.last(rest.size() - rest.size() / 2)};
    std::span<const Bytes> all(views);
    absl::StatusOr<size_t> done = co_await side.stream->WriteSome(all);
    side.status = done.status();
    if (!done.ok()) co_return;
    side.last = *done;
    rest = rest.subspan(*done);
  }
}

// Reads until `size` bytes have come in all, or an error.
Task<> ReadUpTo(Side& side, size_t size) {
  std::array<std::byte, 700> buffer;
  while (side.received.size() < size) {
    const size_t room = std::min(size - side.received.size(), buffer.size());
    std::array<MutableBytes, 2> views = {
        MutableBytes(buffer).first(room / 3),
        MutableBytes(buffer).subspan(room / 3, room - room / 3)};
    std::span<const MutableBytes> all(views);
    absl::StatusOr<size_t> done = co_await side.stream->ReadSome(all);
    side.status = done.status();
    if (!done.ok()) co_return;
    side.last = *done;
    if (*done == 0) co_return;
    side.received += AsText(Bytes(buffer).first(*done));
  }
}

std::string Pattern(size_t size) {
  std::string text(size, '\0');
  for (size_t i = 0; i < size; ++i) {
    text[i] = static_cast<char>('a' + i * i % 23);
  }
  return text;
}

class SimNetworkTest : public ::testing::Test {
 protected:
  explicit SimNetworkTest(uint64_t seed = 1) : world_(seed) {
    world_.Start(server_);
    world_.Start(client_);
  }

  void Listen() {
    Spawn(server_.executor(), AcceptOne(server_, at_server_));
    world_.RunFor(milliseconds(1));
  }
  void Connect(Duration timeout = seconds(10)) {
    at_client_.status = absl::UnknownError("still connecting");
    Spawn(client_.executor(),
          ConnectOne(client_, at_client_, world_.clock().Now() + timeout));
  }
  void Establish() {
    Listen();
    Connect();
    world_.RunFor(seconds(1));
    ASSERT_TRUE(at_client_.stream != nullptr);
    ASSERT_TRUE(at_server_.stream != nullptr);
  }
  void Send(std::string text) {
    Spawn(client_.executor(), WriteAll(at_client_, std::move(text)));
  }
  void Receive(size_t size) {
    Spawn(server_.executor(), ReadUpTo(at_server_, size));
  }

  // Declared before the world, whose end may destroy coroutines that use them.
  Side at_server_;
  Side at_client_;
  SimWorld world_;
  SimNode& server_ = world_.AddNode("server");
  SimNode& client_ = world_.AddNode("client");
};

// The streams must be destroyed before the world.
class SimStreamTest : public SimNetworkTest {
 protected:
  SimStreamTest() { Establish(); }
  ~SimStreamTest() override {
    at_server_ = {};
    at_client_ = {};
  }
};

TEST_F(SimNetworkTest, RefusesWhatIsNotAnAddress) {
  for (const char* address : {"", "sim:", "sim:server", "sim::1", "tcp:a:1",
                              "sim:server:x", "sim:server:65536"}) {
    absl::StatusOr<std::unique_ptr<Acceptor>> acceptor =
        server_.network().Listen(server_.executor(), address);
    EXPECT_EQ(acceptor.status().code(), absl::StatusCode::kInvalidArgument)
        << address;
  }
}

TEST_F(SimNetworkTest, ListensOnItsOwnFreePortsAlone) {
  auto first = server_.network().Listen(server_.executor(), "sim:server:9");
  ASSERT_TRUE(first.ok());
  EXPECT_EQ((*first)->address(), "sim:server:9");
  auto second = server_.network().Listen(server_.executor(), "sim:server:9");
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  auto foreign = server_.network().Listen(server_.executor(), "sim:client:9");
  EXPECT_EQ(foreign.status().code(), absl::StatusCode::kUnavailable);
  auto any = server_.network().Listen(server_.executor(), "sim:server:0");
  auto other = server_.network().Listen(server_.executor(), "sim:server:0");
  ASSERT_TRUE(any.ok() && other.ok());
  EXPECT_NE((*any)->address(), (*other)->address());
  (*first)->Close();
  EXPECT_TRUE(
      server_.network().Listen(server_.executor(), "sim:server:9").ok());
}

TEST_F(SimNetworkTest, ConnectIsRefusedWhereNobodyListens) {
  Connect();
  world_.RunFor(seconds(1));
  EXPECT_EQ(at_client_.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(at_client_.status.message()),
              HasSubstr("sim:server:7: connection refused"));
}

TEST_F(SimNetworkTest, ConnectGetsNoAnswerThroughAPartition) {
  Listen();
  world_.Partition(server_, client_);
  Connect(seconds(3));
  world_.RunFor(seconds(2));
  EXPECT_EQ(at_client_.status.code(), absl::StatusCode::kUnknown);
  world_.RunFor(seconds(2));
  EXPECT_EQ(at_client_.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(at_client_.status.message()), HasSubstr("no answer"));
  at_server_ = {};
}

TEST_F(SimNetworkTest, ConnectSucceedsWhenAPartitionHealsInTime) {
  Listen();
  world_.Partition(client_, server_);
  Connect(seconds(3));
  world_.RunFor(seconds(1));
  world_.Heal(client_, server_);
  world_.RunFor(seconds(1));
  EXPECT_TRUE(at_client_.status.ok()) << at_client_.status;
  at_server_ = {};
  at_client_ = {};
}

TEST_F(SimNetworkTest, AcceptEndsWhenTheAcceptorIsClosed) {
  Listen();
  at_server_.acceptor->Close();
  world_.RunFor(seconds(1));
  EXPECT_EQ(at_server_.status.code(), absl::StatusCode::kUnavailable);
  at_server_ = {};
}

TEST_F(SimStreamTest, NamesItsPeer) {
  EXPECT_EQ(at_client_.stream->peer_address(), kAddress);
  EXPECT_THAT(at_server_.stream->peer_address(), HasSubstr("sim:client:"));
}

TEST_F(SimStreamTest, DeliversEveryByteInOrder) {
  const std::string sent = Pattern(300'000);
  Send(sent);
  Receive(sent.size());
  world_.RunFor(minutes(1));
  EXPECT_EQ(at_server_.received.size(), sent.size());
  EXPECT_TRUE(at_server_.received == sent);
}

TEST_F(SimStreamTest, WriterWaitsForTheReader) {
  const std::string sent = Pattern(2'000'000);
  Send(sent);
  world_.RunFor(minutes(1));
  Receive(sent.size());
  world_.RunFor(milliseconds(1));
  // At most half can have been in flight: the buffers hold 256 KiB.
  EXPECT_LT(at_server_.received.size(), sent.size() / 2);
  world_.RunFor(minutes(1));
  EXPECT_TRUE(at_server_.received == sent);
}

TEST_F(SimStreamTest, InterruptEndsReadAndWriteAndLosesNothing) {
  const std::string sent = Pattern(1'000'000);
  Receive(sent.size());
  world_.RunFor(milliseconds(1));
  at_server_.stream->Interrupt();
  world_.RunFor(milliseconds(1));
  EXPECT_EQ(at_server_.last, 0u);
  EXPECT_TRUE(at_server_.status.ok());

  Send(sent);
  for (int i = 0; i < 100; ++i) {
    at_client_.stream->Interrupt();
    world_.RunFor(milliseconds(1));
  }
  Receive(sent.size());
  world_.RunFor(minutes(1));
  EXPECT_TRUE(at_server_.received == sent);
}

TEST_F(SimStreamTest, InterruptDoesNotConcernLaterOperations) {
  at_server_.stream->Interrupt();
  Receive(4);
  world_.RunFor(seconds(1));
  EXPECT_FALSE(at_server_.last.has_value());
  Send("data");
  world_.RunFor(seconds(1));
  EXPECT_EQ(at_server_.received, "data");
}

TEST_F(SimStreamTest, CloseDeliversWhatWasWritten) {
  Send("farewell");
  world_.RunFor(Duration(1));
  at_client_.stream->Close();
  Receive(100);
  world_.RunFor(seconds(1));
  EXPECT_EQ(at_server_.received, "farewell");
  EXPECT_EQ(at_server_.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(at_server_.status.message()), HasSubstr("closed"));
}

TEST_F(SimStreamTest, CloseEndsOperationsUnderWay) {
  Receive(1);
  world_.RunFor(seconds(1));
  at_server_.stream->Close();
  world_.RunFor(seconds(1));
  EXPECT_EQ(at_server_.status.code(), absl::StatusCode::kUnavailable);
}

TEST_F(SimStreamTest, WritingToAClosedPeerFails) {
  at_server_.stream->Close();
  Send(Pattern(10'000'000));
  world_.RunFor(minutes(1));
  EXPECT_EQ(at_client_.status.code(), absl::StatusCode::kUnavailable);
}

TEST_F(SimStreamTest, BrokenConnectionFailsOnBothSides) {
  Receive(1);
  Spawn(client_.executor(), ReadUpTo(at_client_, 1));
  world_.RunFor(seconds(1));
  EXPECT_EQ(world_.BreakConnections(client_, server_), 1u);
  world_.RunFor(seconds(1));
  EXPECT_EQ(at_server_.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(at_client_.status.code(), absl::StatusCode::kUnavailable);
}

TEST_F(SimStreamTest, OneWayPartitionHoldsBytesBackInOneDirection) {
  world_.Partition(client_, server_);
  const std::string sent = Pattern(5000);
  Send(sent);
  Receive(sent.size());
  Spawn(server_.executor(), WriteAll(at_server_, "hello"));
  Spawn(client_.executor(), ReadUpTo(at_client_, 5));
  world_.RunFor(minutes(1));
  EXPECT_EQ(at_server_.received, "");
  EXPECT_EQ(at_client_.received, "hello");
  world_.Heal(client_, server_);
  world_.RunFor(minutes(1));
  EXPECT_TRUE(at_server_.received == sent);
}

TEST_F(SimStreamTest, WithoutAcknowledgementsTheWriterWaits) {
  // Bytes arrive and are read, but the acknowledgements never get back.
  world_.Partition(server_, client_);
  const std::string sent = Pattern(3'000'000);
  Send(sent);
  Receive(sent.size());
  world_.RunFor(minutes(1));
  EXPECT_GT(at_server_.received.size(), 0u);
  EXPECT_LE(at_server_.received.size(), SimNetworkOptions().max_buffer);
  world_.Heal(server_, client_);
  world_.RunFor(minutes(1));
  EXPECT_TRUE(at_server_.received == sent);
}

TEST_F(SimStreamTest, DelayHoldsBytesBackForAWhile) {
  world_.SetDelay(client_, server_, seconds(5));
  const MonotonicTime start = world_.clock().Now();
  Receive(1);
  Send("x");
  world_.RunUntil([&] { return !at_server_.received.empty(); },
                  start + minutes(1));
  EXPECT_EQ(at_server_.received, "x");
  EXPECT_GT(world_.clock().Now() - start, milliseconds(10));
  EXPECT_LE(world_.clock().Now() - start, seconds(6));
}

// Sizes, delays and order differ between seeds; the bytes stay the same.
TEST(SimNetworkSeedsTest, DeliversEveryByteInOrderForManySeeds) {
  const std::string sent = Pattern(20'000);
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Side at_server, at_client;
    SimWorld world(seed);
    SimNode& server = world.AddNode("server");
    SimNode& client = world.AddNode("client");
    world.Start(server,
                [&](SimNode& node) { return AcceptOne(node, at_server); });
    world.RunFor(milliseconds(1));
    world.Start(client, [&](SimNode& node) {
      return ConnectOne(node, at_client, kNever);
    });
    world.RunFor(seconds(1));
    Spawn(client.executor(), WriteAll(at_client, sent));
    Spawn(server.executor(), ReadUpTo(at_server, sent.size()));
    const auto result =
        world.RunUntil([&] { return at_server.received.size() == sent.size(); },
                       world.clock().Now() + minutes(1));
    EXPECT_EQ(result, SimWorld::Result::kDone) << "seed " << seed;
    EXPECT_TRUE(at_server.received == sent) << "seed " << seed;
    at_server = {};
    at_client = {};
  }
}

}  // namespace
}  // namespace capstan

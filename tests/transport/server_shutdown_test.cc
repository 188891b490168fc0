// A server that takes long to shut down says whom it still serves, and reads
// that where it may: a connection belongs to one executor.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/async/real_clock.h"
#include "testing/real_world.h"
#include "testing/status_matchers.h"
#include "testing/transport_contract.h"
#include "transport/inproc/inproc_network.h"

namespace capstan::testing {
namespace {

// Notes when a stream is asked from another thread than the one it lives on.
class WatchedStream final : public Stream {
 public:
  WatchedStream(std::unique_ptr<Stream> inner, std::atomic<int>& strays)
      : inner_(std::move(inner)), strays_(strays) {}

  Task<absl::StatusOr<size_t>> ReadSome(
      std::span<const MutableBytes> into) override {
    home_ = std::this_thread::get_id();
    return inner_->ReadSome(into);
  }
  Task<absl::StatusOr<size_t>> WriteSome(std::span<const Bytes> from) override {
    return inner_->WriteSome(from);
  }
  void Interrupt() override { inner_->Interrupt(); }
  void Close() override { inner_->Close(); }
  std::string peer_address() const override {
    if (home_.load() != std::this_thread::get_id()) ++strays_;
    return inner_->peer_address();
  }

 private:
  const std::unique_ptr<Stream> inner_;
  std::atomic<int>& strays_;
  std::atomic<std::thread::id> home_ = std::this_thread::get_id();
};

class WatchedAcceptor final : public Acceptor {
 public:
  WatchedAcceptor(std::unique_ptr<Acceptor> inner, std::atomic<int>& strays)
      : inner_(std::move(inner)), strays_(strays) {}

  Task<absl::StatusOr<std::unique_ptr<Stream>>> Accept(
      const Executor& executor) override {
    return AcceptFrom(*inner_, strays_, executor);
  }
  std::string address() const override { return inner_->address(); }
  void Close() override { inner_->Close(); }

 private:
  static Task<absl::StatusOr<std::unique_ptr<Stream>>> AcceptFrom(
      Acceptor& inner, std::atomic<int>& strays, Executor executor) {
    absl::StatusOr<std::unique_ptr<Stream>> stream =
        co_await inner.Accept(executor);
    if (!stream.ok()) co_return stream;
    co_return std::make_unique<WatchedStream>(*std::move(stream), strays);
  }

  const std::unique_ptr<Acceptor> inner_;
  std::atomic<int>& strays_;
};

class WatchedNetwork final : public Network {
 public:
  WatchedNetwork(std::shared_ptr<Network> inner, std::atomic<int>& strays)
      : inner_(std::move(inner)), strays_(strays) {}

  Task<absl::StatusOr<std::unique_ptr<Stream>>> Connect(
      Executor executor, std::string address, MonotonicTime deadline) override {
    return inner_->Connect(executor, std::move(address), deadline);
  }
  absl::StatusOr<std::unique_ptr<Acceptor>> Listen(
      const Executor& executor, const std::string& address) override {
    absl::StatusOr<std::unique_ptr<Acceptor>> acceptor =
        inner_->Listen(executor, address);
    if (!acceptor.ok()) return acceptor;
    return std::make_unique<WatchedAcceptor>(*std::move(acceptor), strays_);
  }

 private:
  const std::shared_ptr<Network> inner_;
  std::atomic<int>& strays_;
};

std::unique_ptr<TransportWorld> MakeWatchedWorld(std::atomic<int>& strays) {
  const auto network = std::make_shared<InprocNetwork>();
  return std::make_unique<RealWorld>(
      std::make_shared<WatchedNetwork>(network, strays), network,
      [] { return std::string("inproc:"); });
}

struct Strays {
  std::atomic<int> strays = 0;  // outlives the world
};

class ServerShutdownTest : public ::testing::Test,
                           public Strays,
                           public TransportHarness {
 protected:
  ServerShutdownTest() : TransportHarness(MakeWatchedWorld(strays)) {}
};

TEST_F(ServerShutdownTest, NamesWhomItServesOnTheConnectionsOwnExecutor) {
  StartServer();
  // The first connection is on the executor that shuts down, the next is not.
  const auto first = NewClient();
  EXPECT_OK(first->Call(kEcho, ""));
  const auto second = NewClient();
  StartedCall held = second->Start({.method = kHold, .body = "held"});
  AwaitHeld("held");
  std::future<void> shutdown = BeginShutdown(std::chrono::seconds(0));
  Await([this] { return log().Contains("still serving requests of 1 "); });
  EXPECT_TRUE(log().Contains("the first from worker/3 at "));
  EXPECT_EQ(strays, 0);
  service().gate("held").Open();
  world().Await(std::move(shutdown));
  EXPECT_FALSE(held.Get().ok());
}

}  // namespace
}  // namespace capstan::testing

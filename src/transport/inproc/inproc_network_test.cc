// What is specific to streams between threads of one process: the thread of one
// end may be destroyed at any moment. All else is in stream_contract_test.cc.
#include "transport/inproc/inproc_network.h"

#include <gtest/gtest.h>

#include <asio/co_spawn.hpp>
#include <asio/post.hpp>
#include <asio/use_future.hpp>
#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include "base/async/io_thread.h"
#include "base/async/run_on.h"
#include "testing/status_matchers.h"
#include "transport/inproc/inproc_acceptor.h"

namespace capstan {
namespace {

using absl::StatusCode::kUnavailable;
using ::testing::HasSubstr;
using testing::StatusIs;

using NewStream = absl::StatusOr<std::unique_ptr<Stream>>;

Task<NewStream> AcceptOne(Acceptor& acceptor, Executor executor) {
  co_return co_await acceptor.Accept(executor);
}

// Runs until the stream ends and reports that through `end`, unless the
// coroutine is destroyed first.
Task<absl::Status> WriteForEver(std::shared_ptr<Stream> stream, size_t size) {
  const std::vector<std::byte> bytes(size, std::byte{7});
  const Bytes view = bytes;
  const std::span<const Bytes> views(&view, 1);
  for (;;) {
    absl::StatusOr<size_t> count = co_await stream->WriteSome(views);
    if (!count.ok()) co_return count.status();
  }
}

Task<absl::Status> ReadForEver(std::shared_ptr<Stream> stream, size_t size,
                               std::atomic<size_t>& total) {
  std::vector<std::byte> bytes(size);
  const MutableBytes view = bytes;
  const std::span<const MutableBytes> views(&view, 1);
  for (;;) {
    absl::StatusOr<size_t> count = co_await stream->ReadSome(views);
    if (!count.ok()) co_return count.status();
    total += *count;
  }
}

void WaitFor(const std::function<bool()>& done) {
  while (!done()) std::this_thread::yield();
}

// Two threads that keep sending to each other.
class BusyPair {
 public:
  explicit BusyPair(size_t size) {
    std::unique_ptr<Acceptor> acceptor =
        network_.Listen(server_->executor(), "inproc:").value();
    std::shared_ptr<Stream> client =
        RunOn(
            client_->executor(),
            network_.Connect(client_->executor(), acceptor->address(), kNever))
            .value();
    std::shared_ptr<Stream> server =
        RunOn(server_->executor(), AcceptOne(*acceptor, server_->executor()))
            .value();
    asio::post(server_->executor(), asio::use_future([&] { acceptor.reset(); }))
        .get();
    Start(server_->executor(), std::move(server), size);
    Start(client_->executor(), std::move(client), size);
  }

  void AwaitTraffic(size_t bytes) {
    WaitFor([&] { return total_ >= bytes; });
  }

  // Destroys one thread while both are busy; returns how the other's operations
  // end.
  std::vector<absl::Status> Kill(bool server) {
    (server ? server_ : client_) = nullptr;
    std::vector<absl::Status> ends;
    for (size_t i = 0; i < ends_.size(); ++i) {
      // The operations of the dead side are destroyed without ending.
      const bool dead = (i < 2) == server;
      if (!dead) ends.push_back(ends_[i].get());
    }
    return ends;
  }

 private:
  // Only the coroutines own the stream.
  void Start(const Executor& executor, std::shared_ptr<Stream> stream,
             size_t size) {
    ends_.push_back(
        asio::co_spawn(executor, WriteForEver(stream, size), asio::use_future));
    ends_.push_back(asio::co_spawn(executor,
                                   ReadForEver(std::move(stream), size, total_),
                                   asio::use_future));
  }

  InprocNetwork network_;
  std::atomic<size_t> total_ = 0;
  std::unique_ptr<IoThread> server_ = std::make_unique<IoThread>();
  std::unique_ptr<IoThread> client_ = std::make_unique<IoThread>();
  std::vector<std::future<absl::Status>> ends_;
};

TEST(InprocNetworkTest, AThreadMayDieInTheMiddleOfATransfer) {
  for (int i = 0; i < 40; ++i) {
    BusyPair pair(size_t{1} << (6 + i % 15));
    pair.AwaitTraffic(static_cast<size_t>(i) * 1'000);
    for (const absl::Status& end : pair.Kill(i % 2 == 0)) {
      EXPECT_THAT(end, StatusIs(kUnavailable, HasSubstr("peer")));
    }
  }
}

TEST(InprocNetworkTest, AnAcceptorsThreadMayDieWhileOthersConnect) {
  for (int i = 0; i < 40; ++i) {
    InprocNetwork network;
    IoThread client;
    auto server = std::make_unique<IoThread>();
    std::unique_ptr<Acceptor> acceptor =
        network.Listen(server->executor(), "inproc:a").value();
    std::future<NewStream> accepting = asio::co_spawn(
        server->executor(), AcceptOne(*acceptor, server->executor()),
        asio::use_future);
    std::atomic<int> connected = 0;
    std::future<void> connecting = std::async(std::launch::async, [&] {
      for (;;) {
        NewStream stream =
            RunOn(client.executor(),
                  network.Connect(client.executor(), "inproc:a", kNever));
        if (!stream.ok()) return;
        ++connected;
        asio::post(client.executor(),
                   asio::use_future([&] { stream->reset(); }))
            .get();
      }
    });
    WaitFor([&] { return connected > i; });
    server = nullptr;
    connecting.get();
    // The name is free although the acceptor still exists.
    EXPECT_OK(network.Listen(client.executor(), "inproc:a"));
  }
}

TEST(InprocNetworkTest, ConnectionsThatAreNotAcceptedEndWithTheAcceptor) {
  InprocNetwork network;
  IoThread thread;
  const Executor executor = thread.executor();
  std::unique_ptr<Acceptor> acceptor =
      network.Listen(executor, "inproc:a").value();
  NewStream client =
      RunOn(executor, network.Connect(executor, "inproc:a", kNever));
  ASSERT_OK(client);
  std::shared_ptr<Stream> stream = *std::move(client);
  std::atomic<size_t> total = 0;
  std::future<absl::Status> reading = asio::co_spawn(
      executor, ReadForEver(stream, 100, total), asio::use_future);
  asio::post(executor, asio::use_future([&] { acceptor.reset(); })).get();
  EXPECT_THAT(reading.get(), StatusIs(kUnavailable));
  asio::post(executor, asio::use_future([&] { stream.reset(); })).get();
}

TEST(InprocNetworkTest, TooManyThatWaitAreRefused) {
  InprocNetwork network;
  IoThread thread;
  const Executor executor = thread.executor();
  std::unique_ptr<Acceptor> acceptor =
      network.Listen(executor, "inproc:a").value();
  std::vector<std::unique_ptr<Stream>> streams;
  for (size_t i = 0; i < InprocBacklog::kMaxWaiting; ++i) {
    NewStream stream =
        RunOn(executor, network.Connect(executor, "inproc:a", kNever));
    ASSERT_OK(stream);
    streams.push_back(*std::move(stream));
  }
  EXPECT_THAT(RunOn(executor, network.Connect(executor, "inproc:a", kNever)),
              StatusIs(kUnavailable, HasSubstr("inproc:a")));
  asio::post(executor, asio::use_future([&] {
               streams.clear();
               acceptor.reset();
             }))
      .get();
}

TEST(InprocNetworkTest, NetworksHaveTheirOwnNames) {
  InprocNetwork one;
  InprocNetwork other;
  IoThread thread;
  const Executor executor = thread.executor();
  const auto first = one.Listen(executor, "inproc:a");
  EXPECT_OK(first);
  EXPECT_THAT(RunOn(executor, other.Connect(executor, "inproc:a", kNever)),
              StatusIs(kUnavailable, HasSubstr("nobody listens")));
  EXPECT_OK(other.Listen(executor, "inproc:a"));
}

}  // namespace
}  // namespace capstan

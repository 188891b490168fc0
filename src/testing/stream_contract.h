// The contract of Stream, Acceptor and Network (transport/stream.h), whatever
// carries the bytes. The cases are in
// tests/transport/stream_contract_*_test.cc, written once; each transport
// instantiates them in a file of a few lines:
//
//   INSTANTIATE_TEST_SUITE_P(Tcp, StreamContract, Values(MakeTcpWorld));
//
// Test-only.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/async/task.h"
#include "base/bytes.h"
#include "testing/transport_world.h"
#include "transport/stream.h"

namespace capstan::testing {

// A connection between the two sides of a world. A test runs on the main
// thread; operations on a stream run on that stream's executor.
class StreamContract
    : public ::testing::TestWithParam<std::unique_ptr<TransportWorld> (*)()> {
 protected:
  using Count = absl::StatusOr<size_t>;
  using NewStream = absl::StatusOr<std::unique_ptr<Stream>>;

  StreamContract() : world_(GetParam()()) {}
  // Destroys streams and acceptor on their executors.
  ~StreamContract() override;

  TransportWorld& world() { return *world_; }
  Executor executor(Side side) { return world_->executor(side); }

  // Listens on the server's side, at a new address or at `address`.
  absl::StatusOr<std::unique_ptr<Acceptor>> Listen();
  absl::StatusOr<std::unique_ptr<Acceptor>> Listen(const std::string& address);
  // Listens into acceptor_ and connects the two streams.
  void Connect();
  std::future<NewStream> StartAccept();
  std::future<NewStream> StartConnect(const std::string& address);

  Stream& stream(Side side) { return *streams_[Index(side)]; }

  // One operation, started before this returns.
  std::future<Count> StartRead(Side side, std::span<const MutableBytes> into);
  std::future<Count> StartRead(Side side, const MutableBytes& into);
  std::future<Count> StartWrite(Side side, std::span<const Bytes> from);
  std::future<Count> StartWrite(Side side, const Bytes& from);
  // Writes `from` repeatedly; returns the first write that does not complete
  // immediately, since a kernel may find room in a full socket after all.
  std::future<Count> StartWriteThatWaits(Side side, const Bytes& from);
  // The result of an operation. Aborted, which no stream returns, if its
  // coroutine was destroyed.
  Count Await(std::future<Count> operation);

  // Transfers everything, in as many operations as needed.
  std::future<absl::Status> StartWriteAll(Side side, Bytes from);
  std::future<absl::Status> StartReadAll(Side side, MutableBytes into);
  void WriteAll(Side side, Bytes from);
  void ReadAll(Side side, MutableBytes into);

  // Writes bytes of `pattern` (testing/pattern.h) until the stream accepts no
  // more, interrupts the blocked write, and returns how many bytes were
  // accepted.
  size_t FillUp(Side side, uint64_t pattern);

  void Interrupt(Side side);
  void Close(Side side);
  void Destroy(Side side);
  // Runs what has been posted to the executor.
  void Settle(Side side);

  std::unique_ptr<Acceptor> acceptor_;

 private:
  static size_t Index(Side side) { return side == Side::kServer ? 0 : 1; }

  std::unique_ptr<TransportWorld> world_;
  std::unique_ptr<Stream> streams_[2];
};

inline constexpr Side kBothSides[] = {Side::kServer, Side::kClient};

inline Side OtherSide(Side side) {
  return side == Side::kServer ? Side::kClient : Side::kServer;
}

// Write or read an entire view, in as many operations as needed.
Task<absl::Status> WriteWhole(Stream& stream, Bytes from);
Task<absl::Status> ReadWhole(Stream& stream, MutableBytes into);

}  // namespace capstan::testing

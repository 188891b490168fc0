#include "testing/stream_contract.h"

#include <asio/post.hpp>
#include <asio/use_awaitable.hpp>
#include <chrono>
#include <utility>

#include "base/async/run_on.h"
#include "base/status.h"
#include "testing/pattern.h"
#include "testing/status_matchers.h"

namespace capstan::testing {
namespace {

// More than any transport buffers.
constexpr size_t kFillBytes = 64 << 20;
// A writer that makes no progress for this many turns of its executor is stuck.
constexpr int kQuietTurns = 2'000;

Task<absl::StatusOr<std::unique_ptr<Stream>>> AcceptOn(Acceptor& acceptor,
                                                       Executor executor) {
  co_return co_await acceptor.Accept(executor);
}

Task<absl::StatusOr<size_t>> ReadOnce(Stream& stream,
                                      std::vector<MutableBytes> into) {
  const std::span<const MutableBytes> views(into);
  co_return co_await stream.ReadSome(views);
}

Task<absl::StatusOr<size_t>> WriteOnce(Stream& stream,
                                       std::vector<Bytes> from) {
  const std::span<const Bytes> views(from);
  co_return co_await stream.WriteSome(views);
}

struct Filling {
  std::vector<std::byte> bytes;
  size_t done = 0;
  bool ended = false;
};

Task<> Fill(Stream& stream, Filling& filling) {
  while (filling.done < filling.bytes.size()) {
    const Bytes view = Bytes(filling.bytes).subspan(filling.done);
    const std::span<const Bytes> views(&view, 1);
    absl::StatusOr<size_t> count = co_await stream.WriteSome(views);
    EXPECT_OK(count);
    if (!count.ok() || *count == 0) break;
    filling.done += *count;
  }
  filling.ended = true;
}

// As WriteWhole and ReadWhole, of a stream that may be destroyed between two
// operations: then Unavailable.
Task<absl::Status> WriteWhileThere(const std::unique_ptr<Stream>& stream,
                                   Bytes from) {
  while (!from.empty()) {
    if (stream == nullptr)
      co_return absl::UnavailableError("the stream was destroyed");
    const std::span<const Bytes> views(&from, 1);
    absl::StatusOr<size_t> count = co_await stream->WriteSome(views);
    if (!count.ok()) co_return count.status();
    from = from.subspan(*count);
  }
  co_return absl::OkStatus();
}

Task<absl::Status> ReadWhileThere(const std::unique_ptr<Stream>& stream,
                                  MutableBytes into) {
  while (!into.empty()) {
    if (stream == nullptr)
      co_return absl::UnavailableError("the stream was destroyed");
    const std::span<const MutableBytes> views(&into, 1);
    absl::StatusOr<size_t> count = co_await stream->ReadSome(views);
    if (!count.ok()) co_return count.status();
    into = into.subspan(*count);
  }
  co_return absl::OkStatus();
}

// Interrupts the stream once the filling has stalled.
Task<> InterruptWhenFull(Stream& stream, const Filling& filling,
                         Executor executor) {
  size_t last = 0;
  int quiet = 0;
  while (!filling.ended) {
    co_await asio::post(executor, asio::use_awaitable);
    quiet = filling.done == last ? quiet + 1 : 0;
    last = filling.done;
    if (quiet < kQuietTurns) continue;
    stream.Interrupt();
    quiet = 0;
  }
}

}  // namespace

Task<absl::Status> WriteWhole(Stream& stream, Bytes from) {
  while (!from.empty()) {
    const std::span<const Bytes> views(&from, 1);
    absl::StatusOr<size_t> count = co_await stream.WriteSome(views);
    if (!count.ok()) co_return count.status();
    from = from.subspan(*count);
  }
  co_return absl::OkStatus();
}

Task<absl::Status> ReadWhole(Stream& stream, MutableBytes into) {
  while (!into.empty()) {
    const std::span<const MutableBytes> views(&into, 1);
    absl::StatusOr<size_t> count = co_await stream.ReadSome(views);
    if (!count.ok()) co_return count.status();
    into = into.subspan(*count);
  }
  co_return absl::OkStatus();
}

StreamContract::~StreamContract() {
  for (const Side side : kBothSides) Destroy(side);
  world_->RunFunction(executor(Side::kServer), [this] { acceptor_.reset(); });
}

absl::StatusOr<std::unique_ptr<Acceptor>> StreamContract::Listen() {
  return Listen(world_->NewAddress());
}

absl::StatusOr<std::unique_ptr<Acceptor>> StreamContract::Listen(
    const std::string& address) {
  return world_->RunFunction(executor(Side::kServer), [this, &address] {
    return world_->network(Side::kServer)
        .Listen(executor(Side::kServer), address);
  });
}

void StreamContract::Connect() {
  absl::StatusOr<std::unique_ptr<Acceptor>> acceptor = Listen();
  ASSERT_OK(acceptor);
  acceptor_ = *std::move(acceptor);
  std::future<NewStream> accepting = StartAccept();
  NewStream client = world_->Await(StartConnect(acceptor_->address()));
  ASSERT_OK(client);
  NewStream server = world_->Await(std::move(accepting));
  ASSERT_OK(server);
  streams_[Index(Side::kServer)] = *std::move(server);
  streams_[Index(Side::kClient)] = *std::move(client);
}

std::future<StreamContract::NewStream> StreamContract::StartAccept() {
  const Executor here = executor(Side::kServer);
  return StartOn(here, AcceptOn(*acceptor_, here));
}

std::future<StreamContract::NewStream> StreamContract::StartConnect(
    const std::string& address) {
  const Executor here = executor(Side::kClient);
  const MonotonicTime deadline =
      world_->clock(Side::kClient).Now() + std::chrono::seconds(30);
  return StartOn(
      here, world_->network(Side::kClient).Connect(here, address, deadline));
}

std::future<StreamContract::Count> StreamContract::StartRead(
    Side side, std::span<const MutableBytes> into) {
  std::vector<MutableBytes> views(into.begin(), into.end());
  std::future<Count> operation =
      StartOn(executor(side), ReadOnce(stream(side), std::move(views)));
  Settle(side);
  return operation;
}

std::future<StreamContract::Count> StreamContract::StartRead(
    Side side, const MutableBytes& into) {
  return StartRead(side, std::span<const MutableBytes>(&into, 1));
}

std::future<StreamContract::Count> StreamContract::StartWrite(
    Side side, std::span<const Bytes> from) {
  std::vector<Bytes> views(from.begin(), from.end());
  std::future<Count> operation =
      StartOn(executor(side), WriteOnce(stream(side), std::move(views)));
  Settle(side);
  return operation;
}

std::future<StreamContract::Count> StreamContract::StartWrite(
    Side side, const Bytes& from) {
  return StartWrite(side, std::span<const Bytes>(&from, 1));
}

std::future<StreamContract::Count> StreamContract::StartWriteThatWaits(
    Side side, const Bytes& from) {
  // FillUp has shown that there is back-pressure, so few writes find room.
  constexpr int kMostWrites = 1000;
  std::future<Count> operation = StartWrite(side, from);
  for (int i = 0;
       i < kMostWrites &&
       operation.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
       ++i) {
    const Count written = operation.get();
    EXPECT_OK(written);
    if (!written.ok()) break;
    operation = StartWrite(side, from);
  }
  return operation;
}

StreamContract::Count StreamContract::Await(std::future<Count> operation) {
  try {
    return world_->Await(std::move(operation));
  } catch (const std::future_error&) {
    return absl::AbortedError("the operation's coroutine was destroyed");
  }
}

std::future<absl::Status> StreamContract::StartWriteAll(Side side, Bytes from) {
  return StartOn(executor(side), WriteWhileThere(streams_[Index(side)], from));
}

std::future<absl::Status> StreamContract::StartReadAll(Side side,
                                                       MutableBytes into) {
  return StartOn(executor(side), ReadWhileThere(streams_[Index(side)], into));
}

void StreamContract::WriteAll(Side side, Bytes from) {
  EXPECT_OK(world_->Await(StartWriteAll(side, from)));
}

void StreamContract::ReadAll(Side side, MutableBytes into) {
  EXPECT_OK(world_->Await(StartReadAll(side, into)));
}

size_t StreamContract::FillUp(Side side, uint64_t pattern) {
  Filling filling;
  filling.bytes = Pattern(pattern, kFillBytes);
  const Executor here = executor(side);
  std::future<void> full =
      StartOn(here, InterruptWhenFull(stream(side), filling, here));
  world_->Run(here, Fill(stream(side), filling));
  world_->Await(std::move(full));
  EXPECT_LT(filling.done, kFillBytes) << "there is no back-pressure";
  return filling.done;
}

void StreamContract::Interrupt(Side side) {
  world_->RunFunction(executor(side), [&] { stream(side).Interrupt(); });
}

void StreamContract::Close(Side side) {
  world_->RunFunction(executor(side), [&] { stream(side).Close(); });
}

void StreamContract::Destroy(Side side) {
  world_->RunFunction(executor(side), [&] { streams_[Index(side)] = nullptr; });
}

void StreamContract::Settle(Side side) {
  world_->RunFunction(executor(side), [] {});
}

}  // namespace capstan::testing

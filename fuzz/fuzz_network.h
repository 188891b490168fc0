// A Network whose every connection says what the fuzzer wants.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/async/waiter.h"
#include "transport/stream.h"

namespace capstan::fuzz {

// What the peer does besides sending its bytes.
struct PeerHabits {
  size_t chunk = SIZE_MAX;    // the most bytes that arrive at once
  bool falls_silent = false;  // stays connected at the end of its bytes
  bool never_reads = false;   // writes to it wait for ever
};

// Lives on one executor.
class FuzzStream final : public Stream {
 public:
  FuzzStream(const Executor& executor, std::string input, PeerHabits habits)
      : reader_(executor),
        writer_(executor),
        input_(std::move(input)),
        habits_(habits) {}

  Task<absl::StatusOr<size_t>> ReadSome(
      std::span<const MutableBytes> into) override {
    while (!closed_ && !interrupted_ && at_ == input_.size() &&
           habits_.falls_silent) {
      co_await reader_.Sleep();
    }
    if (closed_) co_return absl::UnavailableError("closed");
    if (std::exchange(interrupted_, false)) co_return size_t{0};
    if (at_ == input_.size()) co_return absl::UnavailableError("end");
    const size_t most = std::min(habits_.chunk, input_.size() - at_);
    size_t count = 0;
    for (const MutableBytes& view : into) {
      const size_t part = std::min(view.size(), most - count);
      if (part > 0) std::memcpy(view.data(), input_.data() + at_, part);
      at_ += part;
      count += part;
    }
    co_return count;
  }

  Task<absl::StatusOr<size_t>> WriteSome(std::span<const Bytes> from) override {
    while (!closed_ && habits_.never_reads && !interrupted_write_) {
      co_await writer_.Sleep();
    }
    if (closed_) co_return absl::UnavailableError("closed");
    if (std::exchange(interrupted_write_, false)) co_return size_t{0};
    // Every byte is looked at, for the sanitizers to see.
    for (const Bytes& view : from) {
      for (const std::byte byte : view) written_ ^= byte;
    }
    co_return TotalSize(from);
  }

  void Interrupt() override {
    interrupted_ = reader_.occupied();
    interrupted_write_ = writer_.occupied();
    reader_.Wake();
    writer_.Wake();
  }

  void Close() override {
    closed_ = true;
    reader_.Wake();
    writer_.Wake();
  }

  std::string peer_address() const override { return "fuzz"; }

 private:
  Waiter reader_;
  Waiter writer_;
  const std::string input_;
  const PeerHabits habits_;
  size_t at_ = 0;
  std::byte written_{};
  bool closed_ = false;
  bool interrupted_ = false;
  bool interrupted_write_ = false;
};

// One connection comes by, then none.
class FuzzAcceptor final : public Acceptor {
 public:
  FuzzAcceptor(const Executor& executor, std::unique_ptr<Stream> stream)
      : waiter_(executor), stream_(std::move(stream)) {}

  Task<absl::StatusOr<std::unique_ptr<Stream>>> Accept(
      const Executor&) override {
    if (stream_ != nullptr) co_return std::move(stream_);
    while (!closed_) co_await waiter_.Sleep();
    co_return absl::UnavailableError("closed");
  }

  std::string address() const override { return "fuzz"; }

  void Close() override {
    closed_ = true;
    waiter_.Wake();
  }

 private:
  Waiter waiter_;
  std::unique_ptr<Stream> stream_;
  bool closed_ = false;
};

class FuzzNetwork final : public Network {
 public:
  FuzzNetwork(std::string input, PeerHabits habits)
      : input_(std::move(input)), habits_(habits) {}

  Task<absl::StatusOr<std::unique_ptr<Stream>>> Connect(
      Executor executor, std::string, MonotonicTime) override {
    co_return std::make_unique<FuzzStream>(executor, input_, habits_);
  }

  absl::StatusOr<std::unique_ptr<Acceptor>> Listen(
      const Executor& executor, const std::string&) override {
    return std::make_unique<FuzzAcceptor>(
        executor, std::make_unique<FuzzStream>(executor, input_, habits_));
  }

 private:
  const std::string input_;
  const PeerHabits habits_;
};

}  // namespace capstan::fuzz

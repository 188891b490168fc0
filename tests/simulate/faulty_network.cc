#include "simulate/faulty_network.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/async/waiter.h"
#include "simulate/frame_bender.h"

namespace capstan::simulate {
namespace {

// How many connections a deaf server accepts in one life.
constexpr uint64_t kDeafAfter = 8;

class FaultyStream final : public Stream {
 public:
  FaultyStream(std::unique_ptr<Stream> inner, Plant plant, Random random)
      : inner_(std::move(inner)), bender_(plant, random) {}

  Task<absl::StatusOr<size_t>> ReadSome(
      std::span<const MutableBytes> into) override {
    absl::StatusOr<size_t> count = co_await inner_->ReadSome(into);
    size_t left = count.value_or(0);
    for (const MutableBytes& view : into) {
      const size_t part = std::min(left, view.size());
      bender_.OnReceived(view.first(part));
      left -= part;
    }
    co_return count;
  }

  Task<absl::StatusOr<size_t>> WriteSome(std::span<const Bytes> from) override {
    const std::array<Bytes, 1> bent = {bender_.Bend(from)};
    const std::span<const Bytes> views(bent);
    absl::StatusOr<size_t> count = co_await inner_->WriteSome(views);
    if (count.ok()) bender_.OnSent(bent[0].first(*count));
    co_return count;
  }

  void Interrupt() override { inner_->Interrupt(); }
  void Close() override { inner_->Close(); }
  std::string peer_address() const override { return inner_->peer_address(); }

 private:
  const std::unique_ptr<Stream> inner_;
  FrameBender bender_;
};

class FaultyAcceptor final : public Acceptor {
 public:
  FaultyAcceptor(std::unique_ptr<Acceptor> inner, Plant plant, Random random)
      : inner_(std::move(inner)), plant_(plant), random_(random) {}

  Task<absl::StatusOr<std::unique_ptr<Stream>>> Accept(
      const Executor& executor) override {
    const Executor owner = executor;
    if (plant_ == Plant::kDeafServer && accepted_ >= kDeafAfter) {
      Waiter forever(owner);
      co_await forever.Sleep();
    }
    absl::StatusOr<std::unique_ptr<Stream>> stream =
        co_await inner_->Accept(owner);
    if (!stream.ok()) co_return stream;
    co_return std::make_unique<FaultyStream>(*std::move(stream), plant_,
                                             random_.Fork(++accepted_));
  }

  std::string address() const override { return inner_->address(); }
  void Close() override { inner_->Close(); }

 private:
  const std::unique_ptr<Acceptor> inner_;
  const Plant plant_;
  const Random random_;
  uint64_t accepted_ = 0;
};

// Only accepted connections are faulty: the bugs are the server's.
class FaultyNetwork final : public Network {
 public:
  FaultyNetwork(Network& inner, Plant plant, Random random)
      : inner_(inner), plant_(plant), random_(random) {}

  Task<absl::StatusOr<std::unique_ptr<Stream>>> Connect(
      Executor executor, std::string address, MonotonicTime deadline) override {
    return inner_.Connect(std::move(executor), std::move(address), deadline);
  }

  absl::StatusOr<std::unique_ptr<Acceptor>> Listen(
      const Executor& executor, const std::string& address) override {
    absl::StatusOr<std::unique_ptr<Acceptor>> acceptor =
        inner_.Listen(executor, address);
    if (!acceptor.ok()) return acceptor.status();
    return std::make_unique<FaultyAcceptor>(*std::move(acceptor), plant_,
                                            random_.Fork(++listened_));
  }

 private:
  Network& inner_;
  const Plant plant_;
  const Random random_;
  uint64_t listened_ = 0;
};

}  // namespace

std::unique_ptr<Network> NewFaultyNetwork(Network& inner, Plant plant,
                                          Random random) {
  return std::make_unique<FaultyNetwork>(inner, plant, random);
}

}  // namespace capstan::simulate

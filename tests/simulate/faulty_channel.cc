#include "simulate/faulty_channel.h"

#include <string>
#include <utility>
#include <vector>

namespace capstan::simulate {
namespace {

constexpr Duration kLate = std::chrono::milliseconds(20);
constexpr double kBadCalls = 0.02;

Task<> Pause(SimNode& node) {
  std::unique_ptr<Timer> timer = node.clock().NewTimer(node.executor());
  const MonotonicTime until = node.clock().Now() + kLate;
  co_await timer->SleepUntil(until);
}

// Writes to memory that the call has released. The judge keeps that memory for
// some seconds, so this harms nobody else.
Task<> WriteLater(SimNode& node, MutableBytes memory) {
  co_await Pause(node);
  memory[memory.size() / 2] ^= std::byte{1};
}

class FaultyChannel final : public Channel {
 public:
  FaultyChannel(std::unique_ptr<Channel> inner, Plant plant, SimNode& node)
      : inner_(std::move(inner)),
        plant_(plant),
        node_(node),
        random_(node.NewRandom("plant")) {}

  Task<absl::StatusOr<Reply>> Call(Method method, std::string body,
                                   std::vector<Bytes> attachments,
                                   CallOptions options) override {
    const bool bad = random_.Chance(kBadCalls);
    std::vector<MutableBytes> places;
    if (options.receive_into) places = *options.receive_into;
    absl::StatusOr<Reply> reply = co_await inner_->Call(
        method, std::move(body), std::move(attachments), std::move(options));
    if (plant_ == Plant::kLateEnd && bad) co_await Pause(node_);
    if (plant_ == Plant::kLateWrite && bad) {
      for (const MutableBytes& place : places) {
        if (!place.empty()) Spawn(node_.executor(), WriteLater(node_, place));
      }
    }
    co_return reply;
  }

  Task<> Close() override { return inner_->Close(); }
  std::string peer() const override { return inner_->peer(); }

 private:
  const std::unique_ptr<Channel> inner_;
  const Plant plant_;
  SimNode& node_;
  Random random_;
};

}  // namespace

std::unique_ptr<Channel> NewFaultyChannel(std::unique_ptr<Channel> inner,
                                          Plant plant, SimNode& node) {
  if (plant != Plant::kLateEnd && plant != Plant::kLateWrite) return inner;
  return std::make_unique<FaultyChannel>(std::move(inner), plant, node);
}

}  // namespace capstan::simulate

#include "simulate/closures/late_channel.h"

#include <utility>
#include <vector>

namespace capstan::simulate {
namespace {

constexpr Duration kTimeout = std::chrono::seconds(1);
// The most requests kept for the next session.
constexpr size_t kMostCopies = 3;

// A request and the memory of its parts.
struct Copy {
  std::string body;
  std::vector<std::string> attachments;
};

Task<> SendLate(std::shared_ptr<Channel> channel, Copy copy) {
  std::string body = copy.body;
  std::vector<Bytes> attachments;
  for (const std::string& attachment : copy.attachments) {
    attachments.push_back(std::as_bytes(std::span(attachment)));
  }
  CallOptions options;
  options.timeout = kTimeout;
  // The reply, and whether there should be one, is the worker's business.
  co_await channel->Call(Method::kWorkerRun, std::move(body),
                         std::move(attachments), std::move(options));
}

class LateChannel final : public Channel {
 public:
  LateChannel(std::unique_ptr<Channel> inner, double chance, SimNode& node,
              Random random)
      : inner_(std::move(inner)),
        chance_(chance),
        node_(node),
        random_(random) {}

  Task<absl::StatusOr<Reply>> Call(Method method, std::string body,
                                   std::vector<Bytes> attachments,
                                   CallOptions options) override {
    if (method == Method::kWorkerRun && random_.Chance(chance_) &&
        copies_.size() < kMostCopies) {
      Copy& copy = copies_.emplace_back();
      copy.body = body;
      for (const Bytes& bytes : attachments) {
        copy.attachments.emplace_back(
            reinterpret_cast<const char*>(bytes.data()), bytes.size());
      }
    }
    absl::StatusOr<Reply> reply = co_await inner_->Call(
        method, std::move(body), std::move(attachments), std::move(options));
    if (method == Method::kWorkerAttach && reply.ok()) {
      for (Copy& copy : std::exchange(copies_, {})) {
        Spawn(node_.executor(), SendLate(inner_, std::move(copy)));
      }
    }
    co_return reply;
  }

  Task<> Close() override { return inner_->Close(); }
  std::string peer() const override { return inner_->peer(); }

 private:
  const std::shared_ptr<Channel> inner_;  // shared with late requests
  const double chance_;
  SimNode& node_;
  Random random_;
  std::vector<Copy> copies_;
};

}  // namespace

std::unique_ptr<Channel> NewLateChannel(std::unique_ptr<Channel> inner,
                                        ClosureContext& context, SimNode& node,
                                        const std::string& task) {
  if (context.options.late_copies == 0) return inner;
  return std::make_unique<LateChannel>(std::move(inner),
                                       context.options.late_copies, node,
                                       node.NewRandom("late").Fork(task));
}

}  // namespace capstan::simulate

#include "simulate/digits/faulty_parameters.h"

#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "simulate/bent_call.h"
#include "wire/parameter.h"

namespace capstan::simulate {
namespace {

bool IsUpdate(Method method) {
  return method == Method::kPush || method == Method::kScatter;
}

bool IsRead(Method method) {
  return method == Method::kPull || method == Method::kGather;
}

// Changes the contents of requests before the server sees them.
class BendingService final : public Service {
 public:
  BendingService(ParameterService& inner, Plant plant, SimNode& node)
      : inner_(inner), plant_(plant), node_(node) {}

  Task<ServerReply> Serve(ServerCall& call) override {
    std::string body = Bend(call);
    BentCall bent(call, std::move(body));
    co_return co_await inner_.Serve(bent);
  }

 private:
  std::string Bend(const ServerCall& call) {
    const Method method = call.method();
    if (IsUpdate(method) || IsRead(method)) return BendShards(call);
    if (method == Method::kCommit) return BendCommit(call);
    return std::string(call.body());
  }

  std::string BendShards(const ServerCall& call) {
    ShardsRequest request = DecodeShardsRequest(call.body()).value();
    UpdateId& id = request.id;
    const bool update = IsUpdate(call.method());
    switch (plant_) {
      case Plant::kNoDedup:
        if (!update) break;
        id.step = kForeignSteps + ++arrived_;
        id.push = static_cast<uint32_t>(arrived_);
        break;
      case Plant::kDedupByWorker: {
        if (!update) break;
        const uint64_t worker = uint64_t{call.peer().index} + 1;
        id.step = kForeignSteps * worker + id.step;
        id.push += static_cast<uint32_t>(1000 * worker);
        break;
      }
      case Plant::kNoFence:
        id.fence = Newest(id.fence);
        break;
      case Plant::kStalePull:
        if (!update) id.round = 0;
        break;
      default:
        break;
    }
    return EncodeShardsRequest(request);
  }

  std::string BendCommit(const ServerCall& call) {
    RoundRequest request = DecodeRoundRequest(call.body()).value();
    if (plant_ == Plant::kNoFence) request.fence = Newest(request.fence);
    // Chooses the replicas of the round by itself.
    if (plant_ == Plant::kPartialCommit && node_.name() == "server0" &&
        request.replicas.size() > 1 && request.round % 8 == 0) {
      request.replicas.pop_back();
    }
    return EncodeRoundRequest(request);
  }

  // Makes a stale request look current.
  Fence Newest(Fence fence) const {
    const Store& store = inner_.store();
    const uint64_t generation = store.table()->generation->number;
    if (fence.generation < generation) fence.generation = generation;
    if (fence.term < store.term()) fence.term = store.term();
    return fence;
  }

  ParameterService& inner_;
  const Plant plant_;
  SimNode& node_;
  uint64_t arrived_ = 0;
};

// Treats an update as done as soon as it arrives, and a second copy as a
// duplicate, although the first may still fail.
class HastyService final : public Service {
 public:
  HastyService(ParameterService& inner, SimNode& node)
      : inner_(inner), node_(node), random_(node.NewRandom("plant")) {}

  Task<ServerReply> Serve(ServerCall& call) override {
    if (!IsUpdate(call.method())) co_return co_await inner_.Serve(call);
    const ShardsRequest request = DecodeShardsRequest(call.body()).value();
    // A reply to a duplicate without the values would be rejected for its form
    // alone.
    if (request.want_values) co_return co_await inner_.Serve(call);
    const Key key = {request.id.fence.generation, request.id.step,
                     request.id.push, call.method()};
    if (!under_way_.insert(key).second) {
      ShardsReply answer;
      answer.versions.resize(request.parts.size(), 1);
      answer.outcomes.resize(request.parts.size(), Outcome::kAlreadyApplied);
      ServerReply reply;
      reply.body = EncodeShardsReply(answer);
      co_return reply;
    }
    std::unique_ptr<Timer> timer = node_.clock().NewTimer(node_.executor());
    const MonotonicTime until =
        node_.clock().Now() + Duration(random_.Between(0, 50'000'000));
    co_await timer->SleepUntil(until);
    ServerReply reply;
    if (call.cancelled()) {
      reply.status = absl::CancelledError("the caller has gone");
    } else {
      reply = co_await inner_.Serve(call);
    }
    under_way_.erase(key);
    co_return reply;
  }

 private:
  using Key = std::tuple<uint64_t, uint64_t, uint32_t, Method>;

  ParameterService& inner_;
  SimNode& node_;
  Random random_;
  std::set<Key> under_way_;
};

}  // namespace

std::unique_ptr<Service> NewFaultyParameters(ParameterService& parameters,
                                             Plant plant, SimNode& node) {
  switch (plant) {
    case Plant::kNoDedup:
    case Plant::kDedupByWorker:
    case Plant::kNoFence:
    case Plant::kStalePull:
    case Plant::kPartialCommit:
      return std::make_unique<BendingService>(parameters, plant, node);
    case Plant::kAckInFlight:
      return std::make_unique<HastyService>(parameters, node);
    default:
      return nullptr;
  }
}

}  // namespace capstan::simulate

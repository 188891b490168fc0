#include "simulate/requests/request_reply.h"

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "simulate/faulty_network.h"
#include "simulate/requests/request_client.h"
#include "simulate/requests/request_context.h"
#include "simulate/requests/request_service.h"

namespace capstan::simulate {
namespace {

absl::StatusOr<RequestReplyOptions> ReadOptions(const Scenario& scenario) {
  StrictMap map(scenario.parameters,
                absl::StrCat(scenario.path, ": parameters"));
  RequestReplyOptions options;
  map.Read("servers", options.servers, 1, 100);
  map.Read("clients", options.clients, 1, 100);
  map.Read("callers", options.callers, 1, 1000);
  map.Read("pause", options.pause);
  map.Read("server_life", options.server_life);
  map.Read("calm", options.calm);
  map.ReadShare("large", options.plan.large);
  map.Read("max_large", options.plan.max_large);
  map.ReadShare("cancelled", options.plan.cancelled);
  map.ReadShare("short_deadlines", options.plan.short_deadlines);
  map.ReadShare("errors", options.plan.errors);
  map.Read("max_service_time", options.plan.max_service_time);
  map.Read("timeout", options.plan.timeout);
  CAPSTAN_RETURN_IF_ERROR(map.Finish());
  return options;
}

class RequestReply final : public Workload {
 public:
  RequestReply(RequestReplyOptions options, uint64_t seed, Plant plant)
      : options_(options), seed_(seed), plant_(plant) {}

  void Start(SimWorld& world, Violations& violations) override {
    world_ = &world;
    context_ = std::make_unique<RequestContext>(
        RequestContext{options_, plant_, Planner(seed_, options_.plan),
                       RequestJudge(world, violations, options_.calm)});
    servers_done_.assign(static_cast<size_t>(options_.servers), false);
    clients_done_.assign(static_cast<size_t>(options_.clients), false);
    for (size_t i = 0; i < servers_done_.size(); ++i) StartServer(i);
    for (size_t i = 0; i < clients_done_.size(); ++i) StartClient(i);
  }

  void Finish() override { context_->phase = Phase::kProve; }

  bool finished() override {
    if (!AllOf(clients_done_)) return false;
    context_->phase = Phase::kLeave;
    return AllOf(servers_done_);
  }

  std::string Progress() const override {
    for (size_t i = 0; i < clients_done_.size(); ++i) {
      if (!clients_done_[i]) {
        return absl::StrCat(ClientName(i), " does not reach every server");
      }
    }
    for (size_t i = 0; i < servers_done_.size(); ++i) {
      if (!servers_done_[i]) {
        return absl::StrCat(ServerName(i), " does not come to rest");
      }
    }
    return "nothing";
  }

  void Check() override { context_->judge.Exhume(); }
  const Tally& tally() const override { return context_->judge.tally(); }

 private:
  static bool AllOf(const std::deque<bool>& flags) {
    return std::all_of(flags.begin(), flags.end(), [](bool b) { return b; });
  }

  // The node's network, with the planted bug if there is one.
  Network& NetworkOf(SimNode& node) {
    if (plant_ == Plant::kNone) return node.network();
    networks_.push_back(
        NewFaultyNetwork(node.network(), plant_, node.NewRandom("plant")));
    return *networks_.back();
  }

  void StartServer(size_t index) {
    SimNode& node = world_->AddNode(ServerName(index));
    services_.push_back(
        std::make_unique<RequestService>(*context_, node, index));
    RequestService& service = *services_.back();
    Network& network = NetworkOf(node);
    world_->Start(node, [this, index, &service, &network](SimNode& self) {
      return RunRequestServer(*context_, self, network, service, index,
                              servers_done_[index]);
    });
  }

  void StartClient(size_t index) {
    SimNode& node = world_->AddNode(ClientName(index));
    Network& network = NetworkOf(node);
    world_->Start(node, [this, index, &network](SimNode& self) {
      return RunRequestClient(*context_, self, network, index,
                              clients_done_[index]);
    });
  }

  const RequestReplyOptions options_;
  const uint64_t seed_;
  const Plant plant_;
  SimWorld* world_ = nullptr;
  std::unique_ptr<RequestContext> context_;
  std::vector<std::unique_ptr<Network>> networks_;
  std::vector<std::unique_ptr<RequestService>> services_;
  // Not vector<bool>: the nodes hold references.
  std::deque<bool> servers_done_;
  std::deque<bool> clients_done_;
};

}  // namespace

std::string ServerName(size_t index) { return absl::StrCat("server", index); }
std::string ClientName(size_t index) { return absl::StrCat("client", index); }
std::string ServerAddress(size_t index) {
  return absl::StrCat("sim:", ServerName(index), ":7000");
}

absl::StatusOr<std::unique_ptr<Workload>> NewRequestReply(
    const Scenario& scenario, uint64_t seed, Plant plant) {
  absl::StatusOr<RequestReplyOptions> options = ReadOptions(scenario);
  if (!options.ok()) return options.status();
  return std::make_unique<RequestReply>(*options, seed, plant);
}

}  // namespace capstan::simulate

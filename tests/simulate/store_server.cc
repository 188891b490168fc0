#include "simulate/store_server.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "membership/member.h"
#include "membership/membership_service.h"
#include "server/parameter_service.h"
#include "simulate/cluster.h"
#include "simulate/digits/faulty_parameters.h"
#include "simulate/turn_holder.h"
#include "transport/server.h"
#include "wire/probe_service.h"

namespace capstan::simulate {

Task<> RunStoreServer(SimNode& node, size_t index, std::string address,
                      Plant plant, bool busy,
                      std::function<void(const std::string&)> violation) {
  ProbeService probe;
  StoreOptions store;
  store.server = static_cast<uint32_t>(index);
  ParameterService parameters(node.clock(), store, probe);
  const std::unique_ptr<Service> faulty =
      NewFaultyParameters(parameters, plant, node);
  Service& next = faulty != nullptr ? *faulty : parameters;
  ServerOptions options;
  options.self = HelloOf(node, "ps", index);
  MemberOptions member_options;
  member_options.self = options.self;
  Member member(node.clock(), node.logger(), node.executor(),
                std::move(member_options));
  MembershipAnswers answers;
  answers.task = [&member] { return member.Report(); };
  answers.member = &member;
  MembershipService service("ps", std::move(answers), next);
  std::vector<Executor> executors = {node.executor()};
  const absl::StatusOr<std::unique_ptr<Server>> server =
      Server::Start(node.clock(), node.network(), node.logger(), service,
                    std::move(executors), address, std::move(options));
  if (!server.ok()) {
    violation(absl::StrCat(node.name(), ": ", server.status().ToString()));
    co_return;
  }
  if (busy) Spawn(node.executor(), HoldTurns(node, parameters.store()));
  std::unique_ptr<Timer> timer = node.clock().NewTimer(node.executor());
  co_await timer->SleepUntil(kNever);
}

}  // namespace capstan::simulate

// What the nodes of the request_reply workload share with their judge.
#pragma once

#include <string>

#include "base/async/clock.h"
#include "simulate/requests/request_judge.h"
#include "simulate/requests/request_plan.h"
#include "transport/stream.h"

namespace capstan::simulate {

struct RequestReplyOptions {
  int servers = 2;
  int clients = 3;
  // How many requests a client has in flight.
  int callers = 3;
  // How long a caller waits between two requests, at most.
  Duration pause = std::chrono::milliseconds(60);
  // The mean time until a server shuts down cleanly and restarts; 0 for never.
  Duration server_life{};
  // There are no faults: every call must succeed.
  bool calm = false;
  PlanOptions plan;
};

enum class Phase {
  kLoad,   // callers call, faults happen
  kProve,  // faults have ended: every client must reach every server
  kLeave,  // all clients are gone: servers must become idle, and stop
};

struct RequestContext {
  const RequestReplyOptions options;
  const Plant plant;
  Planner planner;
  RequestJudge judge;
  Phase phase = Phase::kLoad;
};

// The names of nodes, and the addresses of servers.
std::string ServerName(size_t index);
std::string ClientName(size_t index);
std::string ServerAddress(size_t index);

}  // namespace capstan::simulate

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
  // Requests that a client has under way at once.
  int callers = 3;
  // How long a caller waits between two requests at most.
  Duration pause = std::chrono::milliseconds(60);
  // The mean time after which a server stops in order and starts again; 0 for
  // never.
  Duration server_life{};
  // Nothing goes wrong: all must succeed.
  bool calm = false;
  PlanOptions plan;
};

enum class Phase {
  kLoad,   // callers call, faults happen
  kProve,  // faults are over: every client must reach every server
  kLeave,  // all clients are gone: servers must be at rest, and stop
};

struct RequestContext {
  const RequestReplyOptions options;
  const Plant plant;
  Planner planner;
  RequestJudge judge;
  Phase phase = Phase::kLoad;
};

// The names of nodes and where servers listen.
std::string ServerName(size_t index);
std::string ClientName(size_t index);
std::string ServerAddress(size_t index);

}  // namespace capstan::simulate

// The closures workload: a coordinator's program schedules functions on workers
// that train on parameter servers, through faults. The dispatcher, the workers'
// service and the servers are the real ones; the program and its functions are
// coroutines. docs/decisions/013-simulated-coordinator.md.
//
// Nodes: chief, server0, server1, ..., worker0, worker1, ... Only workers and,
// with `restarts`, the chief may be killed.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "simulate/workload.h"

namespace capstan::simulate {

absl::StatusOr<std::unique_ptr<Workload>> NewClosures(const Scenario& scenario,
                                                      uint64_t seed,
                                                      Plant plant);

}  // namespace capstan::simulate

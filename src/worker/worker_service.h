// Answers the worker methods: sessions, closures, resources.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/async/clock.h"
#include "base/async/task.h"
#include "base/log.h"
#include "client/parameter_client.h"
#include "wire/service.h"
#include "worker/runner.h"

namespace capstan {

struct WorkerServiceOptions {
  std::string task;          // "worker/3"
  uint64_t incarnation = 0;  // of this process
};

// Lives on one executor, on which all its connections must be.
class WorkerService final : public Service {
 public:
  // What is passed by reference must outlive the service; calls of other
  // methods are passed on to `next`.
  WorkerService(Clock& clock, Logger logger, const Executor& executor,
                ParameterClient& client, Runner& runner,
                WorkerServiceOptions options, Service& next);
  ~WorkerService() override;

  Task<ServerReply> Serve(ServerCall& call) override;

  // The worker is leaving the job: closures are cancelled and answered with
  // kLeaving, and new ones are refused. Returns at once.
  void Leave();

  WorkerReport Report() const;

 private:
  class Core;
  Task<ServerReply> Answer(ServerCall& call);

  const std::shared_ptr<Core> core_;
  Service& next_;
};

}  // namespace capstan

// What a worker has besides its TaskHost: a client of the servers, compute
// threads, and the service that runs functions.
#pragma once

#include <memory>

#include "client/parameter_client.h"
#include "launch/task_host.h"
#include "wire/service.h"
#include "worker/compute_runner.h"
#include "worker/definitions.h"
#include "worker/worker_service.h"

namespace capstan {

class WorkerPart {
 public:
  // Whatever is passed by reference must outlive it. Do not call it on the
  // executor.
  WorkerPart(TaskHost& host, std::shared_ptr<const DefinitionList> definitions,
             Service& next);
  // Call Stop first.
  ~WorkerPart();

  // Tells running functions to end and waits for them, however long that takes.
  // The executor's thread must keep running meanwhile.
  void Stop();

  Service& service() { return *service_; }

  // Tells running functions to end and waits at most `grace` for them. Returns
  // how many are still running.
  size_t Leave(Duration grace);

 private:
  TaskHost& host_;
  // Made and destroyed on the executor.
  std::unique_ptr<ParameterClient> client_;
  std::unique_ptr<ComputeRunner> runner_;
  std::unique_ptr<WorkerService> service_;
};

}  // namespace capstan

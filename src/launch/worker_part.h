// What a task has when it is a worker: a client of the servers, threads to
// compute on, and the service that runs closures.
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
  // What is passed by reference must outlive it; not on the executor.
  WorkerPart(TaskHost& host, std::shared_ptr<const DefinitionList> definitions,
             Service& next);
  // After Stop.
  ~WorkerPart();

  // Ends the functions that run, and waits for that, however long it takes.
  // The executor's thread must run meanwhile.
  void Stop();

  Service& service() { return *service_; }

  // Tells the functions to end, and waits for that for at most `grace`. How
  // many are left.
  size_t Leave(Duration grace);

 private:
  TaskHost& host_;
  // Made and destroyed on the executor.
  std::unique_ptr<ParameterClient> client_;
  std::unique_ptr<ComputeRunner> runner_;
  std::unique_ptr<WorkerService> service_;
};

}  // namespace capstan

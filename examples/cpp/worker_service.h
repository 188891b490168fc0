// A worker of the demo: does what the coordinator asks, with the tensor on the
// server.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "capstan/tensor.h"
#include "wire/channel.h"
#include "wire/service.h"

namespace capstan {

// Answers kMeasure, kTrain and kDigest. On one executor, that of the channel;
// one call at a time.
class WorkerService final : public Service {
 public:
  // `index` says what this worker adds to the tensor on `server`.
  WorkerService(int index, std::unique_ptr<Channel> server);

  Task<ServerReply> Serve(ServerCall& call) override;

  // Ends the connection to the server. Afterwards nothing may be served.
  Task<> Close();

 private:
  Task<ServerReply> Measure();
  Task<ServerReply> Train();
  Task<ServerReply> Digest();
  Task<ServerReply> Refuse();
  Task<absl::Status> Echo();
  Task<absl::Status> Pull();
  Task<absl::Status> Push(const Tensor& update);

  std::unique_ptr<Channel> server_;
  Tensor values_;  // as pulled last
  Tensor update_;
  Tensor nothing_;  // an update that changes nothing
};

}  // namespace capstan

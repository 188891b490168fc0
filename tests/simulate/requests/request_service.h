// The server of the request_reply workload: answers as the plan says.
#pragma once

#include <cstddef>

#include "simulate/requests/request_context.h"
#include "simulation/sim_world.h"
#include "wire/service.h"

namespace capstan::simulate {

// Lives outside its node, which may crash beneath it.
class RequestService final : public Service {
 public:
  // `context` and `node` must outlive the service.
  RequestService(RequestContext& context, SimNode& node, size_t index)
      : context_(context), node_(node), index_(index) {}

  Task<ServerReply> Serve(ServerCall& call) override;

 private:
  Task<ServerReply> ServeOnce(ServerCall& call);
  // Checks the head; returns false if the request should not be served.
  bool CheckHead(ServerCall& call, const RequestPlan& plan);
  Task<absl::Status> Receive(ServerCall& call, const RequestPlan& plan);
  Task<absl::Status> ReceiveAll(ServerCall& call, const RequestPlan& plan);
  Task<absl::Status> ReceiveParts(ServerCall& call, const RequestPlan& plan,
                                  size_t attachments);
  Task<> Wait(ServerCall& call, const RequestPlan& plan);
  ServerReply Answer(const RequestPlan& plan);

  RequestContext& context_;
  SimNode& node_;
  const size_t index_;
};

// The server's program: serves, occasionally shuts down cleanly and restarts,
// and at the end checks that it is idle. Then sets `done`.
Task<> RunRequestServer(RequestContext& context, SimNode& node,
                        Network& network, RequestService& service, size_t index,
                        bool& done);

}  // namespace capstan::simulate

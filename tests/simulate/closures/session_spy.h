// Stands in front of a worker and watches that it serves its present session
// alone.
#pragma once

#include "simulate/closures/closure_context.h"
#include "wire/service.h"

namespace capstan::simulate {

class SessionSpy final : public Service {
 public:
  // What is passed by reference must outlive it.
  SessionSpy(Service& inner, ClosureContext& context, SimNode& node)
      : inner_(inner), context_(context), node_(node) {}

  Task<ServerReply> Serve(ServerCall& call) override;

 private:
  Service& inner_;
  ClosureContext& context_;
  SimNode& node_;
  uint64_t term_ = 0;     // of the coordinator
  uint64_t session_ = 0;  // the last that was begun
};

}  // namespace capstan::simulate

// Stands in front of a worker and checks that it serves only its current
// session.
#pragma once

#include "simulate/closures/closure_context.h"
#include "wire/service.h"

namespace capstan::simulate {

class SessionSpy final : public Service {
 public:
  // Whatever is passed by reference must outlive it.
  SessionSpy(Service& inner, ClosureContext& context, SimNode& node)
      : inner_(inner), context_(context), node_(node) {}

  Task<ServerReply> Serve(ServerCall& call) override;

 private:
  Service& inner_;
  ClosureContext& context_;
  SimNode& node_;
  uint64_t term_ = 0;     // of the coordinator
  uint64_t session_ = 0;  // the last that was started
};

}  // namespace capstan::simulate

// The parameter server as a service: one verb for each method (server/verbs.h).
#pragma once

#include <utility>

#include "base/async/clock.h"
#include "server/store.h"
#include "server/verbs.h"
#include "wire/service.h"

namespace capstan {

// Thread-safe. Permissions are checked before a call gets here
// (membership/membership_service.h).
class ParameterService final : public Service {
 public:
  // `next` gets the methods that are not the parameter server's. `clock` and
  // `next` must outlive the service.
  ParameterService(Clock& clock, StoreOptions options, Service& next)
      : store_(std::move(options)),
        context_{.store = store_, .clock = clock},
        next_(next) {}

  Task<ServerReply> Serve(ServerCall& call) override;

  const Store& store() const { return store_; }

 private:
  Store store_;
  VerbContext context_;
  Service& next_;
};

}  // namespace capstan

// A parameter server as a service: one method, one verb (server/verbs.h).
#pragma once

#include <utility>

#include "base/async/clock.h"
#include "server/store.h"
#include "server/verbs.h"
#include "wire/service.h"

namespace capstan {

// Thread-safe. Whether a caller may call a method is checked before
// (membership/membership_service.h).
class ParameterService final : public Service {
 public:
  // `clock` and `next`, which gets the methods that are none of its own, must
  // outlive the service.
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

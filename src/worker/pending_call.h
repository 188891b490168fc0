// What a PendingCall waits for.
#pragma once

#include <future>

#include "base/status.h"
#include "capstan/worker.h"

namespace capstan {

struct PendingCall::State {
  std::future<absl::Status> end;
};

}  // namespace capstan

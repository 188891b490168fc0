// For what talks to the servers at length, and must end when one is lost. Both
// block, on a thread of the caller's.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "base/async/cancellation.h"
#include "coordinator/coordinator_impl.h"

namespace capstan {

// What is cancelled when a server is lost; may be null.
std::shared_ptr<Cancellation> UntilLost(
    const CoordinatorMaker::Impl& coordinator_impl);

// `status`, or which server is lost if that is what has cancelled it.
absl::Status OrLost(const CoordinatorMaker::Impl& coordinator_impl,
                    const absl::Status& status);

}  // namespace capstan
